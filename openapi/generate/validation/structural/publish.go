package main

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
)

const modelName = "com.example.v1.Widget"

// The schema as OpenAPI documents of versions 3 and 2 have it.
func publish(given any) (any, any, error) {
	text, err := json.Marshal(given)
	if err != nil {
		return nil, nil, err
	}
	var schema apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, nil, err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com",
		Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
		}},
	}}
	third, err := builder.BuildOpenAPIV3(definition, "v1", builder.Options{V2: false})
	if err != nil {
		return nil, nil, err
	}
	second, err := builder.BuildOpenAPIV2(definition, "v1", builder.Options{V2: true})
	if err != nil {
		return nil, nil, err
	}
	return third.Components.Schemas[modelName], withoutDefaults(copied(second.Definitions[modelName])), nil
}

// The server takes them out of version 2 in the end.
func withoutDefaults(schema any) any {
	fields, ok := schema.(document)
	if !ok {
		return schema
	}
	delete(fields, "default")
	properties, _ := fields["properties"].(document)
	for _, inner := range properties {
		withoutDefaults(inner)
	}
	withoutDefaults(fields["items"])
	withoutDefaults(fields["additionalProperties"])
	return fields
}
