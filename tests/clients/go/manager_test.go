package clients

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// mirror keeps a copy of every ConfigMap that asks for one, by a label, and owns it.
type mirror struct{ client.Client }

func (m mirror) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var source corev1.ConfigMap
	if err := m.Get(ctx, request.NamespacedName, &source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Labels["mirror"] != "yes" {
		return ctrl.Result{}, nil
	}
	copied := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name + "-copy"}}
	_, err := controllerutil.CreateOrUpdate(ctx, m.Client, &copied, func() error {
		copied.Data = source.Data
		return controllerutil.SetControllerReference(&source, &copied, m.Scheme())
	})
	// Its cache is behind; the event that brings it up to date brings the request back.
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return ctrl.Result{}, err
}

func startMirror(t *testing.T, space string) client.Client {
	t.Helper()
	config, _ := config(t)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: metrics.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{space: {}}},
	})
	must(t, err)
	must(t, ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.ConfigMap{}).
		Complete(mirror{manager.GetClient()}))
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	equal(t, "synchronised", manager.GetCache().WaitForCacheSync(ctx), true)
	return manager.GetClient()
}

func TestControllerFollowsAConfigMap(t *testing.T) {
	space := namespace(t)
	cached := startMirror(t, space)
	source := configMap("source", map[string]string{"a": "1"})
	source.Namespace, source.Labels = space, map[string]string{"mirror": "yes"}
	must(t, cached.Create(t.Context(), source))
	var copied corev1.ConfigMap
	follows := func(want string) {
		t.Helper()
		eventually(t, "the copy follows", func() (bool, error) {
			err := cached.Get(t.Context(), client.ObjectKey{Namespace: space, Name: "source-copy"}, &copied)
			return err == nil && copied.Data["a"] == want, client.IgnoreNotFound(err)
		})
	}
	follows("1")
	equal(t, "owner", copied.OwnerReferences[0].UID, source.UID)

	source.Data["a"] = "2"
	must(t, cached.Update(t.Context(), source))
	follows("2")

	copied.Data["a"] = "spoilt"
	must(t, cached.Update(t.Context(), &copied))
	follows("2")
}
