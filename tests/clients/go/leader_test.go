package clients

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// stand lets a candidate stand until the context ends; it says its name when it leads.
func stand(t *testing.T, ctx context.Context, client kubernetes.Interface, space, name string, leads chan<- string) <-chan struct{} {
	t.Helper()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: "hansa", Namespace: space}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 100 * time.Millisecond,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leads <- name },
			OnStoppedLeading: func() {},
		},
	})
	must(t, err)
	ended := make(chan struct{})
	go func() { defer close(ended); elector.Run(ctx) }()
	return ended
}

func TestLeadershipPassesOn(t *testing.T) {
	config, _ := config(t)
	space := namespace(t)
	client := kubernetes.NewForConfigOrDie(config)
	leads := make(chan string, 2)
	first, resign := context.WithCancel(t.Context())
	firstEnded := stand(t, first, client, space, "first", leads)
	equal(t, "leader", next(t, leads), "first")

	second, stop := context.WithCancel(t.Context())
	secondEnded := stand(t, second, client, space, "second", leads)
	holder := func() string {
		lease, err := client.CoordinationV1().Leases(space).Get(t.Context(), "hansa", metav1.GetOptions{})
		must(t, err)
		return *lease.Spec.HolderIdentity
	}
	equal(t, "holder", holder(), "first")
	resign()
	<-firstEnded
	equal(t, "leader", next(t, leads), "second")
	equal(t, "holder", holder(), "second")
	stop()
	<-secondEnded
	equal(t, "holder", holder(), "")
}
