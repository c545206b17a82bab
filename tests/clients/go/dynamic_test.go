package clients

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: fields}
	made.SetAPIVersion(apiVersion)
	made.SetKind(kind)
	made.SetName(name)
	return made
}

func TestDynamicLifeOfAConfigMap(t *testing.T) {
	config, _ := config(t)
	maps := dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace(namespace(t))
	made, err := maps.Create(t.Context(),
		object("v1", "ConfigMap", "one", map[string]any{"data": map[string]any{"a": "1"}}), metav1.CreateOptions{})
	must(t, err)
	events, err := maps.Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: made.GetResourceVersion(), FieldSelector: "metadata.name=one",
	})
	must(t, err)
	defer events.Stop()

	wanted := object("v1", "ConfigMap", "one", map[string]any{"data": map[string]any{"b": "2"}})
	applied, err := maps.Apply(t.Context(), "one", wanted, metav1.ApplyOptions{FieldManager: "clients"})
	must(t, err)
	data, _, err := unstructured.NestedStringMap(applied.Object, "data")
	must(t, err)
	equal(t, "what another wrote stays", data["a"], "1")
	equal(t, "what is applied is there", data["b"], "2")

	must(t, maps.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	for _, want := range []watch.EventType{watch.Modified, watch.Deleted} {
		event := next(t, events.ResultChan())
		equal(t, "event", event.Type, want)
		equal(t, "of kind", event.Object.GetObjectKind().GroupVersionKind().Kind, "ConfigMap")
	}
	_, err = maps.Get(t.Context(), "one", metav1.GetOptions{})
	equal(t, "gone", apierrors.IsNotFound(err), true)
}

func TestMetadataOnly(t *testing.T) {
	config, sent := config(t)
	space := namespace(t)
	_, err := dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace(space).Create(t.Context(),
		object("v1", "ConfigMap", "one", map[string]any{"data": map[string]any{"a": "1"}}), metav1.CreateOptions{})
	must(t, err)

	maps := metadata.NewForConfigOrDie(config).Resource(configMaps).Namespace(space)
	found, err := maps.Get(t.Context(), "one", metav1.GetOptions{})
	must(t, err)
	equal(t, "name", found.Name, "one")
	listed, err := maps.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=one"})
	must(t, err)
	equal(t, "listed", len(listed.Items), 1)
	equal(t, "version", listed.Items[0].ResourceVersion, found.ResourceVersion)

	events, err := maps.Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: listed.ResourceVersion, FieldSelector: "metadata.name=one",
	})
	must(t, err)
	defer events.Stop()
	must(t, maps.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	event := next(t, events.ResultChan())
	equal(t, "event", event.Type, watch.Deleted)
	equal(t, "of", event.Object.(*metav1.PartialObjectMetadata).Name, "one")
	gets := sent.all(func(e exchange) bool { return e.method == "GET" })
	equal(t, "gets", len(gets), 3)
	for _, get := range gets {
		equal(t, "answered in protobuf", get.isProtobuf(), true)
	}
}

var ships = schema.GroupVersionResource{Group: "clients.example.com", Version: "v1", Resource: "ships"}

func shipDefinition() *apiextensionsv1.CustomResourceDefinition {
	masts := apiextensionsv1.JSONSchemaProps{
		Type: "integer", Minimum: new(1.0), Default: &apiextensionsv1.JSON{Raw: []byte("3")},
	}
	properties := map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {
			Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte("{}")},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{"masts": masts},
		},
		"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"port": {Type: "string"}}},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "ships.clients.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: ships.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "ships", Singular: "ship", Kind: "Ship", ListKind: "ShipList"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties},
				},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// define makes the kind known to the server until the test ends.
func define(t *testing.T, definitions apiextensions.CustomResourceDefinitionInterface) {
	t.Helper()
	_, err := definitions.Create(t.Context(), shipDefinition(), metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), "ships.clients.example.com", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "established", func() (bool, error) {
		found, err := definitions.Get(t.Context(), "ships.clients.example.com", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

func TestDynamicCustomResource(t *testing.T) {
	config, _ := config(t)
	space := namespace(t)
	define(t, clientset.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions())
	fleet := dynamic.NewForConfigOrDie(config).Resource(ships).Namespace(space)
	ship := func(name string, spec map[string]any) *unstructured.Unstructured {
		return object("clients.example.com/v1", "Ship", name, map[string]any{"spec": spec})
	}
	var made *unstructured.Unstructured
	// Established is said a moment before every path is served.
	eventually(t, "served", func() (bool, error) {
		var err error
		made, err = fleet.Create(t.Context(), ship("kogge", map[string]any{"sails": "red"}), metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	masts, _, err := unstructured.NestedInt64(made.Object, "spec", "masts")
	must(t, err)
	equal(t, "by default", masts, 3)
	_, unknown, err := unstructured.NestedString(made.Object, "spec", "sails")
	must(t, err)
	equal(t, "an unknown field is kept", unknown, false)
	_, err = fleet.Create(t.Context(), ship("raft", map[string]any{"masts": int64(0)}), metav1.CreateOptions{})
	equal(t, "too few masts are invalid", apierrors.IsInvalid(err), true)

	must(t, unstructured.SetNestedField(made.Object, "Lübeck", "status", "port"))
	must(t, unstructured.SetNestedField(made.Object, int64(9), "spec", "masts"))
	reported, err := fleet.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	must(t, err)
	port, _, _ := unstructured.NestedString(reported.Object, "status", "port")
	equal(t, "status", port, "Lübeck")
	masts, _, _ = unstructured.NestedInt64(reported.Object, "spec", "masts")
	equal(t, "a status changes nothing else", masts, 3)
	must(t, fleet.Delete(t.Context(), "kogge", metav1.DeleteOptions{}))
}
