// The table's text. Its grammar is described in its own header and read by src/builtin/read.rs.

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
)

const header = `# What the API server knows of every built-in kind: facts only. Written by generate/; do not edit.
# %s
#
# package <alias> <OpenAPI model prefix, or -> <apiVersion, or - for one that only lends types>
# resource <plural> <Kind> <namespaced|cluster> [verbs=<v,..>] [short=<s,..>] [categories=<c,..>]   (no verbs= means all)
#  / <subresource> <v,..> [<apiVersion>.<Kind>]                                      (no kind means the parent's)
# also <Kind> <type>                                              a kind of this apiVersion, defined in another package
# scalar <Name> <base> [<enum values>, separated by |]
# type <Name> [kind] [message] [atomic]                message: it has a protobuf form; atomic: apply owns it as a whole
#  <JSON name, or . when inlined> <protobuf number, 0: none> <element>[*|[]|{}] [flags]        pointer, list, map of string
#   omitempty omitzero    as in Go
#   optional required     only where it is not the rule: a field with omitempty is optional, one without it is required
#   list=atomic|set|map(<keys>)  unit=atomic|granular     server-side apply: how a list, a map or a struct is owned
#   patch=<strategies> key=<field>                        strategic merge patch
#   as=<Go type>                                          where error texts name another type than form and element imply
#   default=<JSON>                                        only those that are not the zero value of a required field
`

func writeTable(out io.Writer) {
	b, scheme, resources := newBook(), newScheme(), readResources()
	kinds := map[reflect.Type]bool{}
	also := map[string][]string{}
	for _, g := range groups {
		for name, t := range scheme.KnownTypes(g.at) {
			b.add(t)
			switch {
			case t.PkgPath() == g.path && t.Name() == name:
				kinds[t] = true
			case g.at.Group == "" && t.PkgPath() == metaPath && !strings.HasSuffix(name, "Options") && name != "WatchEvent":
				also[g.path] = append(also[g.path], name+" "+typeName(t))
			}
		}
	}
	for _, kind := range metaKinds {
		b.add(reflect.TypeOf(kind))
		kinds[reflect.TypeOf(kind)] = true
	}
	b.checkAll()
	fmt.Fprintf(out, header, modules())
	for _, g := range slices.Concat(groups, b.lenders()) {
		fmt.Fprintf(out, "\npackage %s %s %s\n", alias(g.path), g.model, cmp.Or(g.at.String(), "-"))
		for _, r := range resources[g.at.String()] {
			checkResource(r, b.sources[g.path].types[r.kind])
			writeResource(out, r)
		}
		delete(resources, g.at.String())
		slices.Sort(also[g.path])
		for _, line := range also[g.path] {
			fmt.Fprintln(out, "also", line)
		}
		b.writeScalars(out, g.path)
		b.writeTypes(out, g, kinds)
	}
	for at := range resources {
		fail("resources of %s, which is not a group of the table", at)
	}
}

// lenders are the packages that the groups' types refer to, and that are no group of the table themselves.
func (b *book) lenders() []group {
	found := map[string]group{}
	for t := range b.named {
		found[t.PkgPath()] = group{path: t.PkgPath(), model: "-"}
	}
	for t := range b.structures {
		found[t.PkgPath()] = group{path: t.PkgPath(), model: strings.TrimSuffix(modelName(t), "."+t.Name())}
	}
	for _, g := range groups {
		delete(found, g.path)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b group) int { return strings.Compare(a.path, b.path) })
}

func modelName(t reflect.Type) string {
	return reflect.New(t).Interface().(interface{ OpenAPIModelName() string }).OpenAPIModelName()
}

// checkAll refuses a table that disagrees with the apply schemas.
func (b *book) checkAll() {
	schemas := applySchemas()
	for t, s := range b.structures {
		if apply := schemas[modelName(t)]; apply != nil {
			b.checkMerge(s, apply)
		}
	}
	for _, g := range groups {
		for t := range b.structures {
			if t.PkgPath() == g.path && modelName(t) != g.model+"."+t.Name() {
				fail("%v is %s in OpenAPI", t, modelName(t))
			}
		}
	}
}

func writeResource(out io.Writer, r resource) {
	scope := "cluster"
	if r.namespaced {
		scope = "namespaced"
	}
	fmt.Fprintf(out, "resource %s %s %s", r.plural, r.kind, scope)
	if r.verbs != allVerbs {
		fmt.Fprintf(out, " verbs=%s", r.verbs)
	}
	if len(r.short) > 0 {
		fmt.Fprintf(out, " short=%s", strings.Join(r.short, ","))
	}
	if len(r.categories) > 0 {
		fmt.Fprintf(out, " categories=%s", strings.Join(r.categories, ","))
	}
	fmt.Fprintln(out)
	for _, sub := range r.subs {
		fmt.Fprintln(out, strings.TrimSuffix(fmt.Sprintf(" / %s %s %s", sub.name, sub.verbs, sub.kind), " "))
	}
}

// inPackage are the types of one package, by name.
func inPackage[V any](all map[reflect.Type]V, path string) []reflect.Type {
	var found []reflect.Type
	for t := range all {
		if t.PkgPath() == path {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
	return found
}

func (b *book) writeScalars(out io.Writer, path string) {
	for _, t := range inPackage(b.named, path) {
		fmt.Fprintf(out, "scalar %s %s", t.Name(), scalars[t.Kind()])
		values := strings.Join(b.sources.of(t).enums[t.Name()], "|")
		writeIf(out, values != "", values)
		fmt.Fprintln(out)
	}
}

func (b *book) writeTypes(out io.Writer, g group, kinds map[reflect.Type]bool) {
	for _, t := range inPackage(b.structures, g.path) {
		s := b.structures[t]
		fmt.Fprintf(out, "type %s", t.Name())
		writeIf(out, kinds[t], "kind")
		writeIf(out, s.proto, "message")
		writeIf(out, s.marks.unit() == "atomic", "atomic")
		fmt.Fprintln(out)
		for _, f := range s.fields {
			word := strings.TrimPrefix(f.word, alias(g.path)+".")
			fmt.Fprintf(out, " %s %d %s%s", f.name, f.number, word, f.form)
			writeIf(out, f.omitempty, "omitempty")
			writeIf(out, f.omitzero, "omitzero")
			writeIf(out, f.required && f.omitempty, "required")
			writeIf(out, !f.required && !f.omitempty && f.name != ".", "optional")
			writeValue(out, "list", f.listKind())
			writeValue(out, "unit", f.marks.unit())
			writeValue(out, "patch", f.patch)
			writeValue(out, "key", f.patchKey)
			writeValue(out, "default", f.given)
			writeValue(out, "as", f.spelling())
			fmt.Fprintln(out)
		}
	}
}

func writeIf(out io.Writer, yes bool, word string) {
	if yes {
		fmt.Fprint(out, " ", word)
	}
}

func writeValue(out io.Writer, name, value string) {
	if strings.Contains(value, " ") {
		fail("the table cannot spell %s=%s", name, value)
	}
	writeIf(out, value != "", name+"="+value)
}

// modules names where the facts come from.
func modules() string {
	info, _ := debug.ReadBuildInfo()
	var names []string
	for _, m := range info.Deps {
		switch m.Path {
		case "k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator":
			names = append(names, m.Path+" "+m.Version)
		}
	}
	return strings.Join(names, ", ")
}
