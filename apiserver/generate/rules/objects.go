package main

import (
	"context"
	stdjson "encoding/json"
	"io"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// A schema, and what its "spec" may be: each is created, and put in the place of every other.
type ofObjects []struct {
	Schema map[string]any `json:"schema"`
	// Where the values stand: "spec" if it is not said, the object itself for ".".
	At     string `json:"at"`
	Values []any  `json:"values"`
	// Only created.
	New bool `json:"new"`
}

func objects(text []byte, out io.Writer) (count int) {
	var all ofObjects
	must(0, json.Unmarshal(text, &all))
	for _, c := range all {
		line(out, map[string]any{"schema": c.Schema})
		judge := newJudge(c.Schema)
		values := make([]map[string]any, len(c.Values))
		for i, value := range c.Values {
			values[i] = object(c.At, value)
			line(out, map[string]any{"object": values[i], "errors": judge.judge(values[i], nil)})
			count++
		}
		for i, old := range values {
			for j, value := range values {
				if c.New || (i == j && i > 0) {
					continue
				}
				line(out, map[string]any{"object": value, "old": old, "errors": judge.judge(value, old)})
				count++
			}
		}
	}
	return count
}

func object(at string, value any) map[string]any {
	object := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Cat", "metadata": map[string]any{"name": "tom"},
	}
	switch {
	case at == "":
		object["spec"] = value
	case value != nil:
		for name, inner := range value.(map[string]any) {
			object[name] = inner
		}
	}
	return object
}

type judge struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func newJudge(properties map[string]any) judge {
	var external v1.JSONSchemaProps
	must(0, json.Unmarshal(must(stdjson.Marshal(properties)), &external))
	var internal apiextensions.JSONSchemaProps
	must(0, v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil))
	structural := must(schema.NewStructural(&internal))
	validator, _, err := validation.NewSchemaValidator(&internal)
	must(0, err)
	return judge{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// judge says what the strategy of custom resources says, metadata left out.
func (j judge) judge(object, old map[string]any) []string {
	ctx := context.Background()
	var errors field.ErrorList
	var options []cel.Option
	if old == nil {
		errors = validation.ValidateCustomResource(nil, object, j.schema)
		errors = append(errors, objectmeta.Validate(ctx, nil, object, j.structural, false)...)
		errors = append(errors, listtype.ValidateListSetsAndMaps(nil, j.structural, object)...)
	} else {
		tie := common.NewCorrelatedObject(object, old, &model.Structural{Structural: j.structural})
		options = append(options, cel.WithRatcheting(tie))
		errors = validation.ValidateCustomResourceUpdate(nil, object, old, j.schema, validation.WithRatcheting(tie))
		errors = append(errors, objectmeta.Validate(ctx, nil, object, j.structural, false)...)
		if len(listtype.ValidateListSetsAndMaps(nil, j.structural, old)) == 0 {
			errors = append(errors, listtype.ValidateListSetsAndMaps(nil, j.structural, object)...)
		}
	}
	if j.rules == nil {
		return texts(errors)
	}
	if blocked(errors) {
		detail := "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
		return texts(append(errors, field.Invalid(nil, nil, detail)))
	}
	var before any
	if old != nil {
		before = old
	}
	found, _ := j.rules.Validate(ctx, nil, j.structural, object, before, celconfig.RuntimeCELCostBudget, options...)
	return texts(append(errors, found...))
}

func blocked(errors field.ErrorList) bool {
	for _, e := range errors {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
