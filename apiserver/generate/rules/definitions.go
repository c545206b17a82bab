package main

import (
	"context"
	"encoding/json"
	"io"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Schemas by name; cases put something into one of them. What is put under "old" is in the definition before.
type ofDefinitions struct {
	Schemas map[string]any
	Cases   []struct {
		Schema string
		// Rules by the path of the schema that has them.
		Rules map[string]any
		Set   map[string]any
		Old   *struct{ Rules, Set map[string]any }
		// A second version, with the schema as it is without the case.
		Versions bool
	}
}

func definitions(text []byte, out io.Writer) int {
	var all ofDefinitions
	must(0, json.Unmarshal(text, &all))
	for _, c := range all.Cases {
		base := all.Schemas[c.Schema]
		vector := map[string]any{}
		definition := read(define(edit(base, c.Rules, c.Set), base, c.Versions))
		vector["definition"] = printed(definition)
		if c.Old == nil {
			vector["errors"] = texts(validation.ValidateCustomResourceDefinition(context.Background(), definition))
		} else {
			old := read(define(edit(base, c.Old.Rules, c.Old.Set), base, c.Versions))
			definition.ResourceVersion, old.ResourceVersion = "1", "1"
			vector["definition"], vector["old"] = printed(definition), printed(old)
			vector["errors"] = texts(validation.ValidateCustomResourceDefinitionUpdate(context.Background(), definition, old))
		}
		line(out, vector)
	}
	return len(all.Cases)
}

func edit(schema any, rules, set map[string]any) any {
	schema = clone(schema)
	for path, value := range set {
		schema = put(schema, path, value)
	}
	for path, value := range rules {
		place := path + "/x-kubernetes-validations"
		if path == "" {
			place = "x-kubernetes-validations"
		}
		schema = put(schema, place, value)
	}
	return schema
}

func define(schema, other any, two bool) any {
	version := func(name string, stored bool, schema any) any {
		return map[string]any{
			"name": name, "served": true, "storage": stored, "schema": map[string]any{"openAPIV3Schema": schema},
		}
	}
	versions := []any{version("v1", true, schema)}
	if two {
		versions = append(versions, version("v2", false, other))
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "cats.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "versions": versions,
			"names": map[string]any{"plural": "cats", "singular": "cat", "kind": "Cat", "listKind": "CatList"},
		},
		"status": map[string]any{"storedVersions": []any{"v1"}},
	}
}

var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}()

func read(definition any) *apiextensions.CustomResourceDefinition {
	codec := serializer.NewCodecFactory(scheme).UniversalDecoder(apiextensions.SchemeGroupVersion)
	object, _, err := codec.Decode(must(json.Marshal(definition)), nil, nil)
	return must(object, err).(*apiextensions.CustomResourceDefinition)
}

// printed gives a definition as it is stored: with defaults.
func printed(definition *apiextensions.CustomResourceDefinition) any {
	var external v1.CustomResourceDefinition
	must(0, scheme.Convert(definition.DeepCopy(), &external, nil))
	external.APIVersion, external.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	return clone(external)
}
