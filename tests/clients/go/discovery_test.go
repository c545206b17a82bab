package clients

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

func TestDiscoveryIsAggregated(t *testing.T) {
	config, sent := config(t)
	groups, lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerGroupsAndResources()
	must(t, err)
	served := map[string]string{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			served[list.GroupVersion+"/"+resource.Name] = resource.Kind
		}
	}
	for path, kind := range map[string]string{
		"v1/configmaps": "ConfigMap", "v1/namespaces": "Namespace", "apps/v1/deployments": "Deployment",
		"apps/v1/deployments/scale": "Scale", "coordination.k8s.io/v1/leases": "Lease",
	} {
		equal(t, path, served[path], kind)
	}
	preferred := map[string]string{}
	for _, group := range groups {
		preferred[group.Name] = group.PreferredVersion.Version
	}
	equal(t, "apps", preferred["apps"], "v1")
	// Two documents hold everything; a server that has none of these is asked once for each version of each group.
	equal(t, "requests", len(sent.all(func(exchange) bool { return true })), 2)
}

func TestDiscoveryOfNames(t *testing.T) {
	config, _ := config(t)
	client := discovery.NewDiscoveryClientForConfigOrDie(config)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	short := restmapper.NewShortcutExpander(mapper, client, func(string) {})
	found, err := short.ResourceFor(schema.GroupVersionResource{Resource: "cm"})
	must(t, err)
	equal(t, "cm", found, configMaps)
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	must(t, err)
	equal(t, "Deployment", mapping.Resource, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
	equal(t, "scope", mapping.Scope.Name(), "namespace")
}

func TestVersionAndDocuments(t *testing.T) {
	config, _ := config(t)
	client := discovery.NewDiscoveryClientForConfigOrDie(config)
	var said *version.Info
	said, err := client.ServerVersion()
	must(t, err)
	equal(t, "major", said.Major, "1")
	paths, err := client.OpenAPIV3().Paths()
	must(t, err)
	for _, path := range []string{"api/v1", "apis/apps/v1"} {
		document, found := paths[path]
		equal(t, path, found, true)
		text, err := document.Schema("application/json")
		must(t, err)
		equal(t, path+" is more than a few words", len(text) > 10_000, true)
	}
}
