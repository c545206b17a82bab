// How lists and maps merge, checked against the schemas that server-side apply clients carry.

package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	_ "k8s.io/client-go/pkg/version" // keeps the module of applyPackages in go.mod
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// applyPackages hold a schema each, as one YAML string constant.
var applyPackages = []string{
	"k8s.io/client-go/applyconfigurations/internal",
	"k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/internal",
	"k8s.io/kube-aggregator/pkg/client/applyconfiguration/internal",
}

// applySchemas are the struct types of those schemas, by OpenAPI model name.
func applySchemas() map[string]*schema.Map {
	types := map[string]*schema.Map{}
	for _, path := range applyPackages {
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
		must(err)
		text := schemaText(filepath.Join(strings.TrimSpace(string(out)), "internal.go"))
		parser, err := typed.NewParser(typed.YAMLObject(text))
		must(err)
		for _, t := range parser.Schema.Types {
			if t.Map != nil && len(t.Map.Fields) > 0 {
				types[t.Name] = t.Map
			}
		}
	}
	return types
}

// schemaText finds `var schemaYAML = typed.YAMLObject("...")`.
func schemaText(path string) string {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	must(err)
	var text string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "schemaYAML" {
			return true
		}
		literal := spec.Values[0].(*ast.CallExpr).Args[0].(*ast.BasicLit)
		text, err = strconv.Unquote(literal.Value)
		must(err)
		return false
	})
	if text == "" {
		fail("%s has no schemaYAML", path)
	}
	return text
}

// listKind is how a list field merges in server-side apply: atomic, set or map(keys).
func (f *field) listKind() string {
	switch kind := f.marks.first("listType"); {
	case kind == "map":
		return "map(" + strings.Join(f.marks["listMapKey"], ",") + ")"
	default:
		return kind
	}
}

// unit tells whether a map or struct is owned as one piece (atomic), where a marker says so.
func (m markers) unit() string { return m.first("mapType") + m.first("structType") }

// checkMerge compares the markers with what the apply schema says of the same type.
func (b *book) checkMerge(s *structure, apply *schema.Map) {
	if (s.marks.unit() == "atomic") != (apply.ElementRelationship == schema.Atomic) {
		fail("%v: marked %q, but the apply schema says %q", s.of, s.marks.unit(), apply.ElementRelationship)
	}
	flat := b.flat(s)
	for _, want := range apply.Fields {
		f, ok := flat[want.Name]
		if !ok {
			fail("%v.%s is only in the apply schema", s.of, want.Name)
		}
		delete(flat, want.Name)
		f.checkMerge(s.of, want)
	}
	for name := range flat {
		if name != "kind" && name != "apiVersion" && name != "status" {
			fail("%v.%s is not in the apply schema", s.of, name)
		}
	}
}

func (f *field) checkMerge(in reflect.Type, want schema.StructField) {
	list, unit := "", schema.ElementRelationship("")
	if want.Type.ElementRelationship != nil {
		unit = *want.Type.ElementRelationship
	}
	if want.Type.Inlined.List != nil {
		list = applyListKind(want.Type.Inlined.List)
	}
	if want.Type.Inlined.Map != nil {
		unit = want.Type.Inlined.Map.ElementRelationship
	}
	if mine := f.listKind(); !isBytes(f.element) && mine != list && !(mine == "" && list == "atomic") {
		fail("%v.%s: marked as list %q, but the apply schema says %q", in, f.goName, mine, list)
	}
	if f.form != "[]" && (f.marks.unit() == "atomic") != (unit == schema.Atomic) && special[f.element] == "" {
		fail("%v.%s: marked as %q, but the apply schema says %q", in, f.goName, f.marks.unit(), unit)
	}
	if got := f.schemaDefault(); got != defaultText(want.Default) {
		fail("%v.%s: default %q, but the apply schema says %q", in, f.goName, got, defaultText(want.Default))
	}
}

func applyListKind(list *schema.List) string {
	switch {
	case len(list.Keys) > 0:
		return "map(" + strings.Join(list.Keys, ",") + ")"
	case list.ElementRelationship == schema.Associative:
		return "set"
	}
	return "atomic"
}

func defaultText(value any) string {
	if value == nil {
		return ""
	}
	if empty, ok := value.(map[any]any); ok && len(empty) == 0 {
		return "{}"
	}
	text, err := json.Marshal(value)
	must(err)
	return string(text)
}

// schemaDefault is the default that OpenAPI and apply schemas give a field: its marker, or the zero value
// where Go prints one for an absent field.
func (f *field) schemaDefault() string {
	if f.given != "" {
		return f.given
	}
	if f.form != "" || special[f.element] != "" {
		return ""
	}
	if f.element.Kind() == reflect.Struct {
		return "{}"
	}
	if f.omitempty || f.omitzero {
		return ""
	}
	switch f.element.Kind() {
	case reflect.String:
		return `""`
	case reflect.Bool:
		return "false"
	case reflect.Int32, reflect.Int64, reflect.Float64:
		return "0"
	}
	return ""
}

// flat is the structure's fields as JSON sees them.
func (b *book) flat(s *structure) map[string]field {
	all := map[string]field{}
	for _, f := range s.fields {
		if f.name != "." {
			all[f.name] = f
			continue
		}
		for name, inner := range b.flat(b.structures[f.element]) {
			all[name] = inner
		}
	}
	return all
}
