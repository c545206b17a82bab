// Writes a digest of the OpenAPI documents that Kubernetes publishes, for the group versions of the table: a line for each
// schema and each path, descriptions aside. `-whole` writes the text itself in place of its hash.
//
// The published documents are made with every alpha feature on and enumerations off. What a server says by default
// differs in two ways, and the digest is of that: no CBOR, and enumerations as the generated definitions have them.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

const module = "k8s.io/kubernetes@v1.37.1"

type object = map[string]any

var whole = flag.Bool("whole", false, "texts instead of hashes")

func main() {
	flag.Parse()
	root := download()
	served := groupVersions()
	enums := enumerations(filepath.Join(root, "pkg/generated/openapi/zz_generated.openapi.go"))
	lines := map[string]bool{}
	for _, at := range served {
		document := read(filepath.Join(root, "api/openapi-spec/v3", fileOf(at)))
		schemas := document["components"].(object)["schemas"].(object)
		lines["v3 document\t"+at+"\t"+digest(names(schemas))] = true
		addSchemas(lines, "v3", schemas, enums, served)
		addPaths(lines, "v3", document["paths"].(object), nil)
	}
	document := read(filepath.Join(root, "api/openapi-spec/swagger.json"))
	paths := document["paths"].(object)
	for url := range paths {
		if !slices.ContainsFunc(served, func(at string) bool { return strings.HasPrefix(url, urlOf(at)+"/") }) {
			delete(paths, url)
		}
	}
	addPaths(lines, "v2", paths, document["parameters"].(object))
	definitions := document["definitions"].(object)
	addSchemas(lines, "v2", reachable(paths, definitions), enums, served)
	sorted := make([]string, 0, len(lines))
	for line := range lines {
		sorted = append(sorted, line)
	}
	sort.Strings(sorted)
	for _, line := range sorted {
		fmt.Println(line)
	}
}

func download() string {
	output, err := exec.Command("go", "mod", "download", "-json", module).Output()
	must(err)
	var found struct{ Dir string }
	must(json.Unmarshal(output, &found))
	return found.Dir
}

// The group versions of the table that have resources.
func groupVersions() []string {
	file, err := os.Open("../src/builtin/table.txt")
	must(err)
	defer file.Close()
	var found []string
	at := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 4 && words[0] == "package":
			at = words[3]
		case strings.HasPrefix(lines.Text(), "resource ") && !slices.Contains(found, at):
			found = append(found, at)
		}
	}
	return found
}

func urlOf(at string) string {
	if strings.Contains(at, "/") {
		return "/apis/" + at
	}
	return "/api/" + at
}

func fileOf(at string) string {
	return strings.ReplaceAll(strings.TrimPrefix(urlOf(at), "/"), "/", "__") + "_openapi.json"
}

func read(path string) object {
	text, err := os.ReadFile(path)
	must(err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document object
	must(decoder.Decode(&document))
	return document
}

func addSchemas(lines map[string]bool, version string, schemas object, enums map[string]map[string][]any, served []string) {
	for name, schema := range schemas {
		schema := schema.(object)
		for property, values := range enums[name] {
			addEnum(schema["properties"].(object)[property].(object), values)
		}
		if kinds, ok := schema["x-kubernetes-group-version-kind"].([]any); ok {
			schema["x-kubernetes-group-version-kind"] = slices.DeleteFunc(kinds, func(kind any) bool {
				at := kind.(object)["group"].(string) + "/" + kind.(object)["version"].(string)
				return !slices.Contains(served, strings.TrimPrefix(at, "/"))
			})
		}
		lines[version+" schema\t"+name+"\t"+digest(bare(schema))] = true
	}
}

func addEnum(schema object, values []any) {
	for _, inner := range []string{"items", "additionalProperties"} {
		if of, ok := schema[inner].(object); ok {
			schema = of
		}
	}
	schema["enum"] = values
}

func addPaths(lines map[string]bool, version string, paths object, parameters object) {
	for url, path := range paths {
		if strings.Contains(url, "/watch/") {
			continue
		}
		lines[version+" path\t"+url+"\t"+digest(bare(resolve(path, parameters)))] = true
	}
}

// The definitions that paths lead to.
func reachable(paths, definitions object) object {
	found := object{}
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case object:
			if at, ok := value["$ref"].(string); ok {
				name := at[strings.LastIndex(at, "/")+1:]
				if definition, ok := definitions[name]; ok && found[name] == nil {
					found[name] = definition
					visit(definition)
				}
			}
			for _, inner := range value {
				visit(inner)
			}
		case []any:
			for _, inner := range value {
				visit(inner)
			}
		}
	}
	visit(paths)
	for _, name := range []string{"DeleteOptions", "Patch"} {
		visit(object{"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1." + name})
	}
	return found
}

// References to shared parameters are replaced by what they refer to.
func resolve(value any, parameters object) any {
	switch value := value.(type) {
	case object:
		if at, ok := value["$ref"].(string); ok && strings.HasPrefix(at, "#/parameters/") {
			return parameters[strings.TrimPrefix(at, "#/parameters/")]
		}
		for name, inner := range value {
			value[name] = resolve(inner, parameters)
		}
	case []any:
		for at, inner := range value {
			value[at] = resolve(inner, parameters)
		}
	}
	return value
}

// Without descriptions, and without CBOR.
func bare(value any) any {
	isCBOR := func(value any) bool {
		text, ok := value.(string)
		return ok && strings.HasPrefix(text, "application/") && strings.Contains(text, "cbor")
	}
	switch value := value.(type) {
	case object:
		stripped := object{}
		for name, inner := range value {
			if _, ok := inner.(string); (name == "description" && ok) || isCBOR(name) {
				continue
			}
			stripped[name] = bare(inner)
		}
		// Only a description makes a reference need it.
		if all, ok := stripped["allOf"].([]any); ok && len(stripped) == 1 && len(all) == 1 {
			return all[0]
		}
		return stripped
	case []any:
		var stripped = []any{}
		for _, inner := range value {
			if !isCBOR(inner) {
				stripped = append(stripped, bare(inner))
			}
		}
		return stripped
	}
	return value
}

func names(schemas object) []string {
	var found []string
	for name := range schemas {
		found = append(found, name)
	}
	sort.Strings(found)
	return found
}

func digest(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(value))
	line := bytes.TrimSpace(text.Bytes())
	if *whole {
		return string(line)
	}
	hash := fnv.New64a()
	hash.Write(line)
	return fmt.Sprintf("%016x", hash.Sum64())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
