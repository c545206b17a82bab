package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Kind is a kind under test, with the object that its cases edit.
type Kind struct {
	version  schema.GroupVersion
	kind     string
	strategy Strategy
	// Judges objects that are not kept, and so have no strategy.
	review Review
	status rest.RESTUpdateStrategy
	base   any
	stored any
}

// What a case sends, and what the server says to it. Objects are merge patches of the base.
type vector struct {
	Kind   string   `json:"kind,omitempty"`
	Base   any      `json:"base,omitempty"`
	Create any      `json:"create,omitempty"`
	Update any      `json:"update,omitempty"`
	Status any      `json:"status,omitempty"`
	Old    any      `json:"old,omitempty"`
	Errors []string `json:"errors"`
}

func (k *Kind) setBase(text []byte) (any, error) {
	var object any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	k.base = set(set(object, []string{"apiVersion"}, k.version.String(), false), []string{"kind"}, k.kind, false)
	internal, err := k.read(k.base)
	if err != nil {
		return nil, err
	}
	errors := k.judge(internal)
	k.stored, err = k.print(internal)
	return vector{Kind: k.version.String() + " " + k.kind, Base: k.stored, Errors: errors}, err
}

func (k *Kind) create(edits string) (any, error) {
	object, err := edit(k.base, edits)
	if err != nil {
		return nil, err
	}
	internal, err := k.read(object)
	if err != nil {
		return nil, err
	}
	errors := k.judge(internal)
	printed, err := k.print(internal)
	return vector{Create: shortened(difference(k.stored, printed)), Errors: errors}, err
}

// What the server says to a new object, which it prepares on the way.
func (k *Kind) judge(object runtime.Object) []string {
	ctx := k.context(object, "")
	if k.review != nil {
		return texts(k.review(ctx, object))
	}
	k.strategy.PrepareForCreate(ctx, object)
	return k.ordered(texts(rest.ValidateCreate(ctx, object, k.strategy)))
}

func (k *Kind) update(verb, edits string) (any, error) {
	before, after, ok := strings.Cut(edits, "=>")
	if !ok {
		before, after = "", edits
	}
	old, err := edit(set(set(clone(k.base), []string{"metadata", "uid"}, "u-1", false), []string{"metadata", "resourceVersion"}, "7", false), before)
	if err != nil {
		return nil, err
	}
	object, err := edit(old, after)
	if err != nil {
		return nil, err
	}
	oldInternal, err := k.read(old)
	if err != nil {
		return nil, err
	}
	internal, err := k.read(object)
	if err != nil {
		return nil, err
	}
	if verb == "status" {
		ctx := k.context(internal, "status")
		k.status.PrepareForUpdate(ctx, internal, oldInternal)
		errors := k.ordered(texts(rest.ValidateUpdate(ctx, internal, oldInternal, k.status)))
		return k.vector(verb, oldInternal, internal, errors)
	}
	ctx := k.context(internal, "")
	k.strategy.PrepareForUpdate(ctx, internal, oldInternal)
	errors := k.ordered(texts(rest.ValidateUpdate(ctx, internal, oldInternal, k.strategy)))
	return k.vector(verb, oldInternal, internal, errors)
}

func (k *Kind) vector(verb string, old, object runtime.Object, errors []string) (any, error) {
	before, err := k.print(old)
	if err != nil {
		return nil, err
	}
	after, err := k.print(object)
	if err != nil {
		return nil, err
	}
	result := vector{Old: difference(k.stored, before), Errors: errors}
	if verb == "status" {
		result.Status = difference(k.stored, after)
	} else {
		result.Update = difference(k.stored, after)
	}
	return result, nil
}

func (k *Kind) read(object any) (runtime.Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	internal, _, err := codecs(k.version).UniversalDecoder().Decode(text, nil, nil)
	return internal, err
}

func (k *Kind) print(internal runtime.Object) (any, error) {
	var text bytes.Buffer
	info, _ := runtime.SerializerInfoForMediaType(codecs(k.version).SupportedMediaTypes(), runtime.ContentTypeJSON)
	if err := codecs(k.version).EncoderForVersion(info.Serializer, k.version).Encode(internal, &text); err != nil {
		return nil, err
	}
	return timeless(parse(text.Bytes())), nil
}

// The same vectors tomorrow: what happened just now happened long ago.
func timeless(value any) any {
	switch value := value.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, value); err == nil && time.Since(at).Abs() < time.Hour {
			return "2020-01-01T00:00:00Z"
		}
	case []any:
		for index := range value {
			value[index] = timeless(value[index])
		}
	case map[string]any:
		for name := range value {
			value[name] = timeless(value[name])
		}
	}
	return value
}

func (k *Kind) context(object runtime.Object, subresource string) context.Context {
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	ctx := request.WithNamespace(context.Background(), accessor.GetNamespace())
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: "admin"})
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, APIGroup: k.version.Group, APIVersion: k.version.Version, Subresource: subresource,
		Namespace: accessor.GetNamespace(), Name: accessor.GetName(),
	})
}

func texts(errors field.ErrorList) []string {
	result := []string{}
	for _, e := range errors {
		// What follows is a difference of Go values, in a form that its makers do not promise to keep.
		e.Detail, _, _ = strings.Cut(e.Detail, "\n")
		if internal(reflect.TypeOf(e.BadValue)) {
			// Go prints its own type here, field names, zeros and all. Nobody has to say that.
			e.BadValue = json.RawMessage("0")
			result = append(result, fmt.Sprintf("%s|%s|%s", e.Field, string(e.Type), strings.Replace(e.ErrorBody(), ": 0", ": …", 1)))
			continue
		}
		result = append(result, fmt.Sprintf("%s|%s|%s", e.Field, string(e.Type), e.ErrorBody()))
	}
	return result
}

// Go walks the maps of a schema in any order, and tells some things twice.
func (k *Kind) ordered(errors []string) []string {
	if k.version.Group == "apiextensions.k8s.io" {
		sort.Strings(errors)
		return slices.Compact(errors)
	}
	return errors
}

func internal(of reflect.Type) bool {
	for of != nil && (of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map) {
		of = of.Elem()
	}
	return of != nil && of.Kind() == reflect.Struct && (strings.HasPrefix(of.PkgPath(), "k8s.io/kubernetes/pkg/apis/") || of.PkgPath() == "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions")
}
