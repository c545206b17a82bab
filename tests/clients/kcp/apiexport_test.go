package kcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"

	"github.com/kcp-dev/multicluster-provider/apiexport"
)

var cowboyKind = schema.GroupVersionKind{Group: "wildwest.dev", Version: "v1alpha1", Kind: "Cowboy"}

func cowboy(name string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(cowboyKind)
	made.SetNamespace("default")
	made.SetName(name)
	return made
}

// offerCowboys makes a workspace that shares a kind and claims config maps.
func offerCowboys(t *testing.T, name string) {
	t.Helper()
	makeWorkspace(t, "root", name, nil)
	provider := clientIn(t, "root:"+name)
	shape, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{
		"spec": map[string]any{"type": "object", "properties": map[string]any{"intent": map[string]any{"type": "string"}}},
	}})
	must(t, err)
	must(t, provider.Create(t.Context(), &apisv1alpha1.APIResourceSchema{
		ObjectMeta: metav1.ObjectMeta{Name: "today.cowboys.wildwest.dev"},
		Spec: apisv1alpha1.APIResourceSchemaSpec{
			Group: cowboyKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "cowboys", Singular: "cowboy", Kind: cowboyKind.Kind, ListKind: "CowboyList",
			},
			Versions: []apisv1alpha1.APIResourceVersion{
				{Name: cowboyKind.Version, Served: true, Storage: true, Schema: runtime.RawExtension{Raw: shape}},
			},
		},
	}))
	export := &apisv1alpha2.APIExport{ObjectMeta: metav1.ObjectMeta{Name: "cowboys"}}
	export.Spec.Resources = []apisv1alpha2.ResourceSchema{{
		Name: "cowboys", Group: cowboyKind.Group, Schema: "today.cowboys.wildwest.dev",
		Storage: apisv1alpha2.ResourceSchemaStorage{CRD: &apisv1alpha2.ResourceSchemaStorageCRD{}},
	}}
	export.Spec.PermissionClaims = []apisv1alpha2.PermissionClaim{configMapClaim()}
	must(t, provider.Create(t.Context(), export))
}

func configMapClaim() apisv1alpha2.PermissionClaim {
	return apisv1alpha2.PermissionClaim{GroupResource: apisv1alpha2.GroupResource{Resource: "configmaps"}, Verbs: []string{"*"}}
}

// takeCowboys makes a workspace that uses the kind and accepts the claim, and returns its id.
func takeCowboys(t *testing.T, name, provider string) string {
	t.Helper()
	id := makeWorkspace(t, "root", name, nil)
	binding := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: "cowboys"}}
	binding.Spec.Reference.Export = &apisv1alpha2.ExportBindingReference{Path: "root:" + provider, Name: "cowboys"}
	binding.Spec.PermissionClaims = []apisv1alpha2.AcceptablePermissionClaim{{
		ScopedPermissionClaim: apisv1alpha2.ScopedPermissionClaim{
			PermissionClaim: configMapClaim(), Selector: apisv1alpha2.PermissionClaimSelector{MatchAll: true},
		},
		State: apisv1alpha2.ClaimAccepted,
	}}
	must(t, clientIn(t, "root:"+name).Create(t.Context(), binding))
	return id
}

// sightings is what a controller has seen: which objects there are, and that others have gone.
type sightings struct {
	// Guards there: reconciles of several workspaces run side by side.
	mutex sync.Mutex
	there map[string]bool
}

func (s *sightings) note(cluster, name string, there bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.there[cluster+"/"+name] = there
}

func (s *sightings) are(cluster, name string, there bool) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	seen, known := s.there[cluster+"/"+name]
	return known && seen == there
}

// follow runs a controller over all workspaces that took cowboys. It writes down what it sees, and leaves a config map
// beside each of them.
func follow(t *testing.T, provider string) (*sightings, *watches) {
	t.Helper()
	seen, opened := &sightings{there: map[string]bool{}}, &watches{}
	config := in(t, "root:"+provider)
	config.Wrap(opened.around)
	clusters, err := apiexport.New(config, "cowboys", apiexport.Options{Scheme: scheme})
	must(t, err)
	all, err := mcmanager.New(config, clusters, manager.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	must(t, err)
	reconcile := func(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
		cluster, err := all.GetCluster(ctx, request.ClusterName)
		if err != nil {
			return ctrl.Result{}, err
		}
		found := cowboy("")
		if err := cluster.GetClient().Get(ctx, request.NamespacedName, found); err != nil {
			if errors.IsNotFound(err) {
				seen.note(string(request.ClusterName), request.Name, false)
				return ctrl.Result{}, nil
			}
			return ctrl.Result{}, err
		}
		beside := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "of-" + request.Name}}
		if err := cluster.GetClient().Create(ctx, beside); client.IgnoreAlreadyExists(err) != nil {
			return ctrl.Result{}, err
		}
		seen.note(string(request.ClusterName), request.Name, true)
		return ctrl.Result{}, nil
	}
	must(t, mcbuilder.ControllerManagedBy(all).Named("cowboys-of-"+provider).For(cowboy("")).Complete(mcreconcile.Func(reconcile)))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- all.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return seen, opened
}

func TestObjectsComeAndGoInThreeWorkspacesUnderOneWatch(t *testing.T) {
	offerCowboys(t, "mc-provider")
	seen, opened := follow(t, "mc-provider")
	// Some were there before the controller knew of them, and some come later.
	ids := map[string]string{}
	for number := range 3 {
		name := fmt.Sprintf("mc-consumer-%d", number)
		ids[name] = takeCowboys(t, name, "mc-provider")
		must(t, clientIn(t, "root:"+name).Create(t.Context(), cowboy("early")))
	}
	for name, id := range ids {
		eventually(t, "early in "+name, func() (bool, error) { return seen.are(id, "early", true), nil })
	}
	for name, id := range ids {
		inside := clientIn(t, "root:"+name)
		must(t, inside.Create(t.Context(), cowboy("late")))
		eventually(t, "late in "+name, func() (bool, error) { return seen.are(id, "late", true), nil })
		beside := &corev1.ConfigMap{}
		must(t, inside.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "of-late"}, beside))
		must(t, inside.Delete(t.Context(), cowboy("early")))
		eventually(t, "early gone from "+name, func() (bool, error) { return seen.are(id, "early", false), nil })
	}
	// One watch over all workspaces shows everything: none is opened for a workspace of its own.
	found := opened.of("cowboys")
	if len(found) == 0 {
		t.Fatal("nothing was watched")
	}
	for _, path := range found {
		if !strings.Contains(path, "/clusters/*/") {
			t.Errorf("%s is the watch of one workspace", path)
		}
	}
}
