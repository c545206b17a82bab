// The types of the table: Go structs read by reflection, with the markers of their source.

package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// special types have a form of their own in JSON, in protobuf, or in both; the reader of the table knows them by name.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                  "Time",
	reflect.TypeFor[metav1.MicroTime]():                             "MicroTime",
	reflect.TypeFor[quantity.Quantity]():                            "Quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "IntOrString",
	reflect.TypeFor[runtime.RawExtension]():                         "RawExtension",
	reflect.TypeFor[metav1.FieldsV1]():                              "FieldsV1",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "JSON",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "SchemaOrArray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "SchemaOrStrings",
	reflect.TypeFor[any]():                                          "Any",
}

var scalars = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "bool", reflect.Int32: "int32", reflect.Int64: "int64", reflect.Float64: "float64",
}

// field is one line of the table below its type.
type field struct {
	name      string // in JSON; "." for a struct that JSON inlines
	goName    string
	number    int // in protobuf; 0 when it never travels there
	of        reflect.Type
	form      string // "", "*", "[]" or "{}"
	element   reflect.Type
	word      string // the element as the table spells it
	omitempty bool
	omitzero  bool
	required  bool
	marks     markers
	given     string // default value that a marker gives, as JSON
	patch     string
	patchKey  string
}

// structure is one struct type of the table.
type structure struct {
	of     reflect.Type
	fields []field
	proto  bool // has a protobuf message
	marks  markers
}

// book collects every type reachable from the kinds.
type book struct {
	sources    sources
	structures map[reflect.Type]*structure
	named      map[reflect.Type]bool // named scalars
}

func newBook() *book {
	return &book{sources{}, map[reflect.Type]*structure{}, map[reflect.Type]bool{}}
}

type message interface{ Marshal() ([]byte, error) }

func isMessage(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[message]())
}

// add reads a struct type and everything it refers to.
func (b *book) add(t reflect.Type) {
	if b.structures[t] != nil {
		return
	}
	src := b.sources.of(t)
	s := &structure{of: t, proto: isMessage(t), marks: src.types[t.Name()]}
	b.structures[t] = s
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		if tag == "" && !f.Anonymous {
			fail("%v.%s has no json tag", t, f.Name)
		}
		s.fields = append(s.fields, b.field(s, f, src.fields[t.Name()][f.Name]))
	}
}

func (b *book) field(s *structure, f reflect.StructField, marks markers) field {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	flags := strings.Split(options, ",")
	out := field{name: name, goName: f.Name, of: f.Type, marks: marks,
		omitempty: slices.Contains(flags, "omitempty"), omitzero: slices.Contains(flags, "omitzero"),
		patch: f.Tag.Get("patchStrategy"), patchKey: f.Tag.Get("patchMergeKey")}
	out.required = marks.has("required") || !marks.has("optional") && !out.omitempty
	if f.Anonymous && name == "" {
		out.name = "."
	}
	out.element = out.setForm(f.Type)
	out.word = b.element(out.element)
	out.given = b.sources.of(s.of).value(marks.first("default"))
	out.number = b.number(s, f, out)
	return out
}

// setForm takes the pointer, list or map off a Go type and returns what is left.
func (f *field) setForm(t reflect.Type) reflect.Type {
	switch {
	case special[t] != "" || isWrapper(t) || isBytes(t):
		return t
	case t.Kind() == reflect.Pointer:
		f.form = "*"
	case t.Kind() == reflect.Slice:
		f.form = "[]"
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		f.form = "{}"
	default:
		return t
	}
	return t.Elem()
}

// isWrapper tells the named lists that protobuf wraps in a message of their own.
func isWrapper(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String && isMessage(t)
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// element spells an element type and puts what it names into the book.
func (b *book) element(t reflect.Type) string {
	switch {
	case special[t] != "":
		return special[t]
	case isWrapper(t):
		return "Strings"
	case isBytes(t):
		return "bytes"
	case t.Kind() == reflect.Struct:
		b.add(t)
		return typeName(t)
	case scalars[t.Kind()] == "":
		fail("no word for %v", t)
	case t.PkgPath() != "":
		b.named[t] = true
		return typeName(t)
	}
	return scalars[t.Kind()]
}

// spelling is how Go's error texts name the field's type, where form and element do not say it already.
func (f *field) spelling() string {
	t, implied := f.of, f.element.String()
	if isWrapper(f.element) {
		implied = "[]string"
	}
	switch f.form {
	case "*":
		t = t.Elem()
	case "[]":
		implied = "[]" + implied
	case "{}":
		implied = "map[string]" + implied
	}
	if t.String() == implied {
		return ""
	}
	return t.String()
}

func typeName(t reflect.Type) string { return alias(t.PkgPath()) + "." + t.Name() }

// alias is the short name of a package: its last two path elements.
func alias(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[len(parts)-2:], ".")
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
