// Facts that Go reflection cannot see: the marker comments in the source of the API packages.

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// markers are the "+name=value" lines of a comment.
type markers map[string][]string

func (m markers) has(name string) bool { return len(m[name]) > 0 }

func (m markers) first(name string) string {
	if len(m[name]) == 0 {
		return ""
	}
	return m[name][0]
}

// source is what one package's files say beyond its types.
type source struct {
	types  map[string]markers            // by type name
	fields map[string]map[string]markers // by type name and Go field name
	enums  map[string][]string           // values of the types marked +enum, sorted

	constants map[string]string // string constants, by name
	messages  definitions
}

func readSource(path string) *source {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
	must(err)
	dir := strings.TrimSpace(string(out))
	positions := token.NewFileSet()
	files, err := parser.ParseDir(positions, dir, nil, parser.ParseComments)
	must(err)
	s := &source{types: map[string]markers{}, fields: map[string]map[string]markers{}, enums: map[string][]string{},
		constants: map[string]string{}, messages: readDefinitions(dir)}
	values := map[string][]string{}
	for _, pkg := range files {
		if strings.HasSuffix(pkg.Name, "_test") {
			continue
		}
		for _, file := range pkg.Files {
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.GenDecl); ok {
					s.readDecl(file, decl, above(positions, file, decl), values)
				}
			}
		}
	}
	for name, marks := range s.types {
		if marks.has("enum") {
			slices.Sort(values[name])
			s.enums[name] = slices.Compact(values[name])
		}
	}
	return s
}

// above is the comment that stands over a declaration's own, with one empty line between: client markers live there.
func above(positions *token.FileSet, file *ast.File, decl *ast.GenDecl) *ast.CommentGroup {
	start := positions.Position(decl.Pos()).Line
	if decl.Doc != nil {
		start = positions.Position(decl.Doc.Pos()).Line
	}
	for _, group := range file.Comments {
		if positions.Position(group.End()).Line == start-2 {
			return group
		}
	}
	return nil
}

func (s *source) readDecl(file *ast.File, decl *ast.GenDecl, above *ast.CommentGroup, values map[string][]string) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			marks := readMarkers(above, decl.Doc, spec.Doc)
			s.types[spec.Name.Name] = marks
			if body, ok := spec.Type.(*ast.StructType); ok {
				s.fields[spec.Name.Name] = readFields(body)
			}
		case *ast.ValueSpec:
			if decl.Tok == token.CONST {
				s.readConstants(file, spec, values)
			}
		}
	}
}

// readConstants reads the texts of a named type, declared as `A T = "a"` or as `A = T("a")`.
func (s *source) readConstants(file *ast.File, spec *ast.ValueSpec, values map[string][]string) {
	for i, value := range spec.Values {
		name, ok := spec.Type.(*ast.Ident)
		if call, isCall := value.(*ast.CallExpr); isCall && len(call.Args) == 1 {
			name, ok = call.Fun.(*ast.Ident)
			value = call.Args[0]
		}
		literal := literalOf(file, value)
		if !ok || literal == "" {
			continue
		}
		plain, err := strconv.Unquote(literal)
		must(err)
		values[name.Name] = append(values[name.Name], plain)
		s.constants[spec.Names[i].Name] = literal
	}
}

// literalOf is the literal of a text, which may be a constant of an imported package; empty for anything else.
func literalOf(file *ast.File, value ast.Expr) string {
	switch value := value.(type) {
	case *ast.BasicLit:
		if value.Kind == token.STRING {
			return value.Value
		}
	case *ast.SelectorExpr:
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			must(err)
			if pkg, ok := value.X.(*ast.Ident); ok && spec.Name != nil && spec.Name.Name == pkg.Name {
				return readSource(path).constants[value.Sel.Name]
			}
		}
	}
	return ""
}

// value is a default as JSON: a literal, or ref(name of a constant).
func (s *source) value(text string) string {
	if name, ok := strings.CutPrefix(text, "ref("); ok {
		return s.constants[strings.TrimSuffix(name, ")")]
	}
	return text
}

func readFields(body *ast.StructType) map[string]markers {
	fields := map[string]markers{}
	for _, field := range body.Fields.List {
		marks := readMarkers(field.Doc)
		for _, name := range field.Names {
			fields[name.Name] = marks
		}
		if len(field.Names) == 0 {
			fields[embeddedName(field.Type)] = marks
		}
	}
	return fields
}

func embeddedName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.SelectorExpr:
		return expr.Sel.Name
	case *ast.StarExpr:
		return embeddedName(expr.X)
	}
	panic("an embedded field of an unexpected form")
}

func readMarkers(comments ...*ast.CommentGroup) markers {
	marks := markers{}
	for _, group := range comments {
		if group == nil {
			continue
		}
		for _, comment := range group.List {
			line := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			if rest, ok := strings.CutPrefix(line, "+"); ok {
				name, value, _ := strings.Cut(rest, "=")
				marks[name] = append(marks[name], value)
			}
		}
	}
	return marks
}

// sources are read once per package and kept.
type sources map[string]*source

func (all sources) of(t reflect.Type) *source {
	if all[t.PkgPath()] == nil {
		all[t.PkgPath()] = readSource(t.PkgPath())
	}
	return all[t.PkgPath()]
}
