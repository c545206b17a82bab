package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// The enumerations of the generated definitions: model name, property, values.
func enumerations(path string) map[string]map[string][]any {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	must(err)
	found := map[string]map[string][]any{}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if model := modelOf(function.Name.Name); model != "" {
			ast.Inspect(function.Body, func(node ast.Node) bool {
				property, ok := node.(*ast.KeyValueExpr)
				if !ok {
					return true
				}
				name, ok := property.Key.(*ast.BasicLit)
				if !ok || name.Kind != token.STRING {
					return true
				}
				if values := enumOf(property.Value); values != nil {
					if found[model] == nil {
						found[model] = map[string][]any{}
					}
					found[model][unquote(name)] = values
				}
				return false
			})
		}
	}
	return found
}

// `schema_k8sio_api_core_v1_Pod` defines `io.k8s.api.core.v1.Pod`.
func modelOf(function string) string {
	for from, to := range map[string]string{
		"schema_k8sio_api_":              "io.k8s.api.",
		"schema_pkg_apis_meta_":          "io.k8s.apimachinery.pkg.apis.meta.",
		"schema_pkg_apis_apiextensions_": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.",
	} {
		if rest, ok := strings.CutPrefix(function, from); ok {
			return to + strings.ReplaceAll(rest, "_", ".")
		}
	}
	return ""
}

func enumOf(schema ast.Expr) []any {
	var values []any
	ast.Inspect(schema, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if name, ok := pair.Key.(*ast.Ident); ok && name.Name == "Enum" {
			for _, value := range pair.Value.(*ast.CompositeLit).Elts {
				values = append(values, unquote(value.(*ast.BasicLit)))
			}
			return false
		}
		return true
	})
	return values
}

func unquote(literal *ast.BasicLit) string {
	text, err := strconv.Unquote(literal.Value)
	must(err)
	return text
}
