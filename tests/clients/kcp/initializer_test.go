package kcp

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	corev1alpha1 "github.com/kcp-dev/sdk/apis/core/v1alpha1"
	"github.com/kcp-dev/sdk/apis/tenancy/initialization"
	tenancyv1alpha1 "github.com/kcp-dev/sdk/apis/tenancy/v1alpha1"

	"github.com/kcp-dev/multicluster-provider/initializingworkspaces"
)

// initialize runs a controller that puts a config map into each new workspace of a type, and says that it has done so.
func initialize(t *testing.T, path string, of *tenancyv1alpha1.WorkspaceType) {
	t.Helper()
	config, initializer := in(t, path), initialization.InitializerForType(of)
	clusters, err := initializingworkspaces.New(config, of.Name, initializingworkspaces.Options{Scheme: scheme})
	must(t, err)
	all, err := mcmanager.New(config, clusters, manager.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	must(t, err)
	reconcile := func(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
		cluster, err := all.GetCluster(ctx, request.ClusterName)
		if err != nil {
			return ctrl.Result{}, err
		}
		itself := &corev1alpha1.LogicalCluster{}
		if err := cluster.GetClient().Get(ctx, request.NamespacedName, itself); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if !slices.Contains(itself.Status.Initializers, initializer) {
			return ctrl.Result{}, nil
		}
		welcome := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "welcome"}}
		if err := cluster.GetClient().Create(ctx, welcome); client.IgnoreAlreadyExists(err) != nil {
			return ctrl.Result{}, err
		}
		before := itself.DeepCopy()
		itself.Status.Initializers = initialization.EnsureInitializerAbsent(initializer, itself.Status.Initializers)
		return ctrl.Result{}, cluster.GetClient().Status().Patch(ctx, itself, client.MergeFrom(before))
	}
	build := mcbuilder.ControllerManagedBy(all).Named("initializer-of-" + of.Name).For(&corev1alpha1.LogicalCluster{})
	must(t, build.Complete(mcreconcile.Func(reconcile)))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- all.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestNewWorkspacesBecomeReadyWhenTheirInitializerIsDone(t *testing.T) {
	makeWorkspace(t, "root", "mc-org", nil)
	org := clientIn(t, "root:mc-org")
	of := &tenancyv1alpha1.WorkspaceType{ObjectMeta: metav1.ObjectMeta{Name: "mc-welcoming"}}
	of.Spec.Initializer = true
	of.Spec.Extend.With = []tenancyv1alpha1.WorkspaceTypeReference{{Name: "universal", Path: "root"}}
	must(t, org.Create(t.Context(), of))
	initialize(t, "root:mc-org", of)
	for number := range 3 {
		name := fmt.Sprintf("mc-welcomed-%d", number)
		makeWorkspace(t, "root:mc-org", name, &tenancyv1alpha1.WorkspaceTypeReference{Name: tenancyv1alpha1.WorkspaceTypeName(of.Name), Path: "root:mc-org"})
		eventually(t, name+" is ready", func() (bool, error) {
			found := &tenancyv1alpha1.Workspace{}
			err := org.Get(t.Context(), client.ObjectKey{Name: name}, found)
			return found.Status.Phase == corev1alpha1.LogicalClusterPhaseReady, err
		})
		must(t, clientIn(t, "root:mc-org:"+name).Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "welcome"}, &corev1.ConfigMap{}))
	}
}
