package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// How large the definition is: sections of fields, and lists of lists of objects in each.
const (
	sections      = 16
	fieldsEach    = 48
	levelsOfLists = 4
)

type tree = map[string]any

// largeDefinition looks like those that operators of databases or clouds bring: hundreds of described fields, and lists
// of objects with keys, deep inside of each other.
func largeDefinition() tree {
	parts := tree{}
	for at := range sections {
		parts[fmt.Sprintf("section%d", at)] = section(at)
	}
	spec := tree{"type": "object", "properties": parts}
	return tree{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": tree{"name": "fabrics.large.clients.example"},
		"spec": tree{
			"group": "large.clients.example", "scope": "Namespaced",
			"names": tree{"plural": "fabrics", "singular": "fabric", "kind": "Fabric"},
			"versions": []any{tree{
				"name": "v1", "served": true, "storage": true,
				"schema": tree{"openAPIV3Schema": tree{"type": "object", "properties": tree{"spec": spec}}},
			}},
		},
	}
}

func section(at int) tree {
	fields := tree{"nested": list(levelsOfLists)}
	for i := range fieldsEach {
		field := tree{"description": strings.Repeat(fmt.Sprintf("Field %d of section %d says something. ", i, at), 6)}
		switch i % 5 {
		case 0:
			field["type"], field["maxLength"], field["pattern"] = "string", 64, "^[a-z0-9-]*$"
		case 1:
			field["type"], field["minimum"], field["default"] = "integer", 0, i
		case 2:
			field["type"], field["enum"] = "string", []any{"Always", "Never", "IfNeeded"}
		case 3:
			field["type"], field["additionalProperties"] = "object", tree{"type": "string"}
		case 4:
			field["x-kubernetes-int-or-string"] = true
		}
		fields[fmt.Sprintf("field%d", i)] = field
	}
	return tree{"type": "object", "properties": fields}
}

func list(levels int) tree {
	properties := tree{"name": tree{"type": "string"}, "weight": tree{"type": "integer", "default": 1}}
	if levels > 1 {
		properties["inner"] = list(levels - 1)
	}
	return tree{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"},
		"items": tree{"type": "object", "required": []any{"name"}, "properties": properties},
	}
}

func items(levels, each int) []any {
	made := []any{}
	for i := range each {
		item := tree{"name": fmt.Sprintf("item%d", i)}
		if levels > 1 {
			item["inner"] = items(levels-1, each)
		}
		made = append(made, item)
	}
	return made
}

func fabric(text string) tree {
	spec := tree{}
	for at := range sections {
		spec[fmt.Sprintf("section%d", at)] = tree{
			"field0": text, "field2": "Always", "field3": tree{"a": "b"}, "field4": "50%", "nested": items(levelsOfLists, 3),
		}
	}
	return tree{
		"apiVersion": "large.clients.example/v1", "kind": "Fabric", "metadata": tree{"name": "one"}, "spec": spec,
	}
}

func (k *kubectl) file(name string, what tree) string {
	k.t.Helper()
	text, err := json.Marshal(what)
	must(k.t, err)
	path := filepath.Join(k.dir, name)
	must(k.t, os.WriteFile(path, text, 0o600))
	return path
}

func TestKubectlAppliesALargeDefinitionAndAnObjectOfIt(t *testing.T) {
	k := newKubectl(t)
	definition := k.file("definition.json", largeDefinition())
	k.does("serverside-applied", "apply", "--server-side", "-f", definition)
	t.Cleanup(func() { k.run("", "delete", "-f", definition, "--wait=false") })
	k.does("condition met", "wait", "crd/fabrics.large.clients.example", "--for=condition=established", "--timeout=30s")
	k.does("serverside-applied", "apply", "--server-side", "-f", definition)

	first := k.file("first.json", fabric("first"))
	k.does("fabric.large.clients.example/one serverside-applied", "apply", "--server-side", "-f", first)
	version := k.does("", "get", "fabric", "one", "-o", "jsonpath={.metadata.resourceVersion}")
	k.does("serverside-applied", "apply", "--server-side", "-f", first)
	k.does(version, "get", "fabric", "one", "-o", "jsonpath={.metadata.resourceVersion}")

	other := k.file("other.json", fabric("other"))
	refused, err := k.run("", "apply", "--server-side", "--field-manager=other", "-f", other)
	if err == nil || !strings.Contains(refused, fmt.Sprintf("Apply failed with %d conflicts", sections)) {
		t.Fatalf("conflicts: %v\n%s", err, refused)
	}
	k.does("serverside-applied", "apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", other)
	k.does("other 1 46", "get", "fabric", "one", "-o",
		"jsonpath={.spec.section7.field0} {.spec.section7.nested[2].inner[1].inner[0].inner[2].weight} {.spec.section7.field46}")
	k.does("Field 3 of section 2 says something.", "explain", "fabric.spec.section2.field3")
	less := fabric("other")
	delete(less["spec"].(tree), "section7")
	k.does("serverside-applied", "apply", "--server-side", "--field-manager=other", "-f", k.file("less.json", less))
	k.does("serverside-applied", "apply", "--server-side", "-f", k.file("none.json", tree{
		"apiVersion": "large.clients.example/v1", "kind": "Fabric", "metadata": tree{"name": "one"},
	}))
	k.does("<no value>", "get", "fabric", "one", "-o", "go-template={{.spec.section7}}")
}
