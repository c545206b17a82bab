// Writes what the code of a Kubernetes API server makes of generated custom resources: pruned, defaulted, refused.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
)

// As many as are kept; more can be asked for.
const cases = 500

// Of so many, one is published.
const publishedOf = 10

// One case: what is given, and what comes of it. What equals the object as given is left out.
type vector struct {
	Seed      int64    `json:"seed"`
	Schema    any      `json:"schema"`
	Object    any      `json:"object,omitempty"`
	Old       any      `json:"old,omitempty"`
	Unknown   []string `json:"unknown,omitempty"`
	Pruned    any      `json:"pruned,omitempty"`
	Defaulted any      `json:"defaulted,omitempty"`
	Errors    []string `json:"errors,omitempty"`
	// Why there may be no definition with this schema.
	Definition []string `json:"definition,omitempty"`
	// How a schema without fault is published; of a few.
	V3 any `json:"v3,omitempty"`
	V2 any `json:"v2,omitempty"`
}

func main() {
	count := int64(cases)
	if len(os.Args) == 3 {
		count, _ = strconv.ParseInt(os.Args[2], 10, 64)
	}
	if len(os.Args) < 2 || count <= 0 {
		fmt.Fprintln(os.Stderr, "usage: structural <folder> [<cases>]")
		os.Exit(2)
	}
	err := write(filepath.Join(os.Args[1], "structural.txt"), count)
	if err == nil {
		err = writeTexts(filepath.Join(os.Args[1], "texts.txt"), count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(target string, count int64) error {
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, written := range written() {
		vector, err := judge(0, written[0], written[1], written[2])
		if err != nil {
			return err
		}
		if err := encoder.Encode(vector); err != nil {
			return err
		}
	}
	for seed := int64(1); seed <= count; seed++ {
		maker := newMaker(seed)
		schema := maker.root()
		object := maker.object(schema)
		var old any
		if maker.one(2) {
			old = maker.changed(object)
		}
		vector, err := judge(seed, schema, object, old)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		if err := encoder.Encode(vector); err != nil {
			return err
		}
	}
	for seed := int64(1); seed <= count/4; seed++ {
		maker := newMaker(-seed)
		schema := maker.root()
		maker.damage(schema)
		refused, err := define(schema)
		if err != nil {
			return fmt.Errorf("seed %d: %w", -seed, err)
		}
		if err := encoder.Encode(vector{Seed: -seed, Schema: schema, Definition: refused}); err != nil {
			return err
		}
	}
	return out.Flush()
}

func copied(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var result any
	if err := utiljson.Unmarshal(text, &result); err != nil {
		panic(err)
	}
	return result
}

func read(given any) (*apiextensions.JSONSchemaProps, error) {
	text, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	var external apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &external); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil)
	return &internal, err
}

func judge(seed int64, given, object, old any) (*vector, error) {
	internal, err := read(given)
	if err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	result := &vector{Seed: seed, Schema: given, Object: object, Old: old}
	if err := shape(result, structural); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	result.Errors = texts(errors(structural, validator, copied(object), old))
	if result.Definition, err = define(given); err != nil {
		return nil, err
	}
	if seed%publishedOf == 0 && len(result.Definition) == 0 {
		result.V3, result.V2, err = publish(given)
	}
	return result, err
}

func define(given any) ([]string, error) {
	internal, err := read(given)
	if err != nil {
		return nil, err
	}
	definition := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group:                 "example.com",
			Version:               "v1",
			Scope:                 apiextensions.NamespaceScoped,
			Names:                 apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions:              []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
			Validation:            &apiextensions.CustomResourceValidation{OpenAPIV3Schema: internal},
			PreserveUnknownFields: new(bool),
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
	return slices.Compact(texts(definitions.ValidateCustomResourceDefinition(context.Background(), definition))), nil
}

// Prunes and fills the object, in the order in which the server does on the way in.
func shape(result *vector, structural *schema.Structural) error {
	object := copied(result.Object).(map[string]any)
	before := copied(object)
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return err
	}
	paths := pruning.PruneWithOptions(object, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	unknown = append(unknown, paths...)
	if fieldErr, paths := objectmeta.CoerceWithOptions(nil, object, structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); fieldErr == nil {
		unknown = append(unknown, paths...)
	}
	if found {
		if err := objectmeta.SetObjectMeta(object, meta); err != nil {
			return err
		}
	}
	result.Unknown = unknown
	sort.Strings(result.Unknown)
	if !reflect.DeepEqual(object, before) {
		result.Pruned = copied(object)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	defaulting.Default(object, structural)
	if !reflect.DeepEqual(object, before) {
		result.Defaulted = copied(object)
	}
	return nil
}

func errors(structural *schema.Structural, validator validation.SchemaValidator, object, old any) field.ErrorList {
	var found field.ErrorList
	given := object.(map[string]any)
	duplicates := true
	if old == nil {
		found = append(found, validation.ValidateCustomResource(nil, object, validator)...)
	} else {
		before := copied(old).(map[string]any)
		correlated := common.NewCorrelatedObject(given, before, &model.Structural{Structural: structural})
		found = append(found, validation.ValidateCustomResourceUpdate(nil, object, before, validator, validation.WithRatcheting(correlated))...)
		duplicates = len(listtype.ValidateListSetsAndMaps(nil, structural, before)) == 0
	}
	found = append(found, objectmeta.Validate(context.Background(), nil, object, structural, false)...)
	if duplicates {
		found = append(found, listtype.ValidateListSetsAndMaps(nil, structural, given)...)
	}
	return found
}

func texts(errors field.ErrorList) []string {
	var result []string
	for _, e := range errors {
		result = append(result, fmt.Sprintf("%s|%s|%s", e.Field, string(e.Type), e.ErrorBody()))
	}
	sort.Strings(result)
	return result
}
