package clients

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var (
	schemas        = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha1", Resource: "apiresourceschemas"}
	exports        = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha2", Resource: "apiexports"}
	bindings       = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha2", Resource: "apibindings"}
	endpointSlices = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha1", Resource: "apiexportendpointslices"}
	cowboys        = schema.GroupVersionResource{Group: "wildwest.dev", Version: "v1alpha1", Resource: "cowboys"}
)

// offerCowboys makes a workspace that shares a kind, and says where its objects are seen.
func offerCowboys(t *testing.T, config *rest.Config, name string) string {
	t.Helper()
	makeWorkspace(t, config, name)
	client, ctx := dynamic.NewForConfigOrDie(in(config, "root:"+name)), context.Background()
	shape := map[string]any{"type": "object", "properties": map[string]any{
		"spec":   map[string]any{"type": "object", "properties": map[string]any{"intent": map[string]any{"type": "string"}}},
		"status": map[string]any{"type": "object", "properties": map[string]any{"result": map[string]any{"type": "string"}}},
	}}
	version := map[string]any{"name": "v1alpha1", "served": true, "storage": true, "schema": shape,
		"subresources": map[string]any{"status": map[string]any{}}}
	_, err := client.Resource(schemas).Create(ctx, object("apis.kcp.io/v1alpha1", "APIResourceSchema", "today.cowboys.wildwest.dev", map[string]any{
		"spec": map[string]any{
			"group": "wildwest.dev", "scope": "Namespaced", "versions": []any{version},
			"names": map[string]any{"plural": "cowboys", "singular": "cowboy", "kind": "Cowboy", "listKind": "CowboyList"},
		},
	}), metav1.CreateOptions{})
	must(t, err)
	_, err = client.Resource(exports).Create(ctx, object("apis.kcp.io/v1alpha2", "APIExport", "cowboys", map[string]any{
		"spec": map[string]any{
			"resources":        []any{map[string]any{"name": "cowboys", "group": "wildwest.dev", "schema": "today.cowboys.wildwest.dev"}},
			"permissionClaims": []any{map[string]any{"group": "", "resource": "configmaps", "verbs": []any{"get", "list", "watch"}}},
		},
	}), metav1.CreateOptions{})
	must(t, err)
	slice, err := client.Resource(endpointSlices).Get(ctx, "cowboys", metav1.GetOptions{})
	must(t, err)
	endpoints, _, err := unstructured.NestedSlice(slice.Object, "status", "endpoints")
	must(t, err)
	return endpoints[0].(map[string]any)["url"].(string)
}

// takeCowboys binds the kind in a workspace, and accepts what is claimed if it should.
func takeCowboys(t *testing.T, config *rest.Config, workspace, provider string, accept bool) {
	t.Helper()
	spec := map[string]any{"reference": map[string]any{"export": map[string]any{"path": "root:" + provider, "name": "cowboys"}}}
	if accept {
		spec["permissionClaims"] = []any{map[string]any{"group": "", "resource": "configmaps", "verbs": []any{"*"},
			"selector": map[string]any{"matchLabels": map[string]any{"for": "cowboys"}}, "state": "Accepted"}}
	}
	client := dynamic.NewForConfigOrDie(in(config, "root:"+workspace))
	bound, err := client.Resource(bindings).Create(context.Background(), object("apis.kcp.io/v1alpha2", "APIBinding", "cowboys", map[string]any{"spec": spec}), metav1.CreateOptions{})
	must(t, err)
	phase, _, _ := unstructured.NestedString(bound.Object, "status", "phase")
	equal(t, "phase", phase, "Bound")
}

// through is the window of an export.
func through(config *rest.Config, url, cluster string) *rest.Config {
	window := rest.CopyConfig(config)
	window.Host = url + "/clusters/" + cluster
	return window
}

// told watches a resource in all workspaces, and tells of what comes and goes.
func told(t *testing.T, config *rest.Config, resource schema.GroupVersionResource) <-chan string {
	t.Helper()
	events := make(chan string, 100)
	tell := func(word string, what any) {
		if gone, ok := what.(cache.DeletedFinalStateUnknown); ok {
			what = gone.Obj
		}
		found := what.(*unstructured.Unstructured)
		events <- fmt.Sprintf("%s %s in %s", word, found.GetName(), found.GetAnnotations()["kcp.io/cluster"])
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
	informer := factory.ForResource(resource).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(what any) { tell("added", what) },
		DeleteFunc: func(what any) { tell("deleted", what) },
	})
	must(t, err)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	factory.Start(stop)
	if !cache.WaitForCacheSync(deadline(t), informer.HasSynced) {
		t.Fatal("the informer was never told that it has seen everything")
	}
	return events
}

func TestProviderSeesThreeWorkspacesThroughOneWatch(t *testing.T) {
	config, ctx := ours(t), context.Background()
	url := offerCowboys(t, config, "wild-west")
	events := told(t, through(config, url, "*"), cowboys)
	clusters := map[string]string{}
	for _, name := range []string{"arizona", "nevada", "utah"} {
		makeWorkspace(t, config, name)
		takeCowboys(t, config, name, "wild-west", false)
		here := dynamic.NewForConfigOrDie(in(config, "root:"+name)).Resource(cowboys).Namespace("default")
		made, err := here.Create(ctx, object("wildwest.dev/v1alpha1", "Cowboy", name, map[string]any{"spec": map[string]any{"intent": "ride"}}), metav1.CreateOptions{})
		must(t, err)
		cluster := made.GetAnnotations()["kcp.io/cluster"]
		equal(t, "event", next(t, events), "added "+name+" in "+cluster)
		clusters[name] = cluster
		// Whoever shares the kind does what it is for, and whoever took it sees that.
		there := dynamic.NewForConfigOrDie(through(config, url, cluster)).Resource(cowboys).Namespace("default")
		must(t, unstructured.SetNestedField(made.Object, "rode", "status", "result"))
		_, err = there.UpdateStatus(ctx, made, metav1.UpdateOptions{})
		must(t, err)
		seen, err := here.Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		result, _, _ := unstructured.NestedString(seen.Object, "status", "result")
		equal(t, "result", result, "rode")
	}
	list, err := dynamic.NewForConfigOrDie(through(config, url, "*")).Resource(cowboys).List(ctx, metav1.ListOptions{})
	must(t, err)
	equal(t, "cowboys in all workspaces", len(list.Items), 3)
	for name, cluster := range clusters {
		inside := dynamic.NewForConfigOrDie(in(config, "root:"+name))
		must(t, inside.Resource(bindings).Delete(ctx, "cowboys", metav1.DeleteOptions{}))
		equal(t, "event", next(t, events), "deleted "+name+" in "+cluster)
		eventually(t, "the binding is gone", func() (bool, error) {
			_, err := inside.Resource(bindings).Get(ctx, "cowboys", metav1.GetOptions{})
			return errors.IsNotFound(err), nil
		})
		_, err := inside.Resource(cowboys).List(ctx, metav1.ListOptions{})
		equal(t, "the kind is gone", errors.IsNotFound(err), true)
		// And with it the way in.
		_, err = dynamic.NewForConfigOrDie(through(config, url, cluster)).Resource(cowboys).List(ctx, metav1.ListOptions{})
		equal(t, "the way in is gone", errors.IsForbidden(err), true)
	}
}

func TestProviderSeesWhatItClaimsOnceThatIsAccepted(t *testing.T) {
	config, ctx := ours(t), context.Background()
	url := offerCowboys(t, config, "claims")
	makeWorkspace(t, config, "careful")
	everywhere := through(config, url, "*")
	client, err := discovery.NewDiscoveryClientForConfig(everywhere)
	must(t, err)
	found, err := client.ServerResourcesForGroupVersion("v1")
	must(t, err)
	equal(t, "kinds of the core that are seen", len(found.APIResources), 1)
	inside := dynamic.NewForConfigOrDie(in(config, "root:careful"))
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for name, labels := range map[string]map[string]string{"open": {"for": "cowboys"}, "private": nil} {
		made := object("v1", "ConfigMap", name, nil)
		made.SetLabels(labels)
		_, err := inside.Resource(maps).Namespace("default").Create(ctx, made, metav1.CreateOptions{})
		must(t, err)
	}
	events := told(t, everywhere, maps)
	takeCowboys(t, config, "careful", "claims", true)
	binding, err := inside.Resource(bindings).Get(ctx, "cowboys", metav1.GetOptions{})
	must(t, err)
	cluster := binding.GetAnnotations()["kcp.io/cluster"]
	equal(t, "event", next(t, events), "added open in "+cluster)
	there := dynamic.NewForConfigOrDie(through(config, url, cluster)).Resource(maps).Namespace("default")
	_, err = there.Get(ctx, "open", metav1.GetOptions{})
	must(t, err)
	_, err = there.Get(ctx, "private", metav1.GetOptions{})
	equal(t, "what was not accepted is hidden", errors.IsNotFound(err), true)
	_, err = there.Create(ctx, object("v1", "ConfigMap", "new", nil), metav1.CreateOptions{})
	equal(t, "what was not claimed is refused", errors.IsForbidden(err), true)
	must(t, unstructured.SetNestedField(binding.Object, []any{}, "spec", "permissionClaims"))
	_, err = inside.Resource(bindings).Update(ctx, binding, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "event", next(t, events), "deleted open in "+cluster)
}
