// Writes what Kubernetes makes of validation rules: of definitions that have them, and of objects that are held to them.
// One JSON object a line, from the cases of definitions.yaml and objects.yaml.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const folder = "../../src/custom/rules/tests/"

func main() {
	write("definitions", definitions)
	write("objects", objects)
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func write(name string, judge func(cases []byte, out io.Writer) int) {
	var out bytes.Buffer
	count := judge(must(yaml.YAMLToJSON(must(os.ReadFile(name+".yaml")))), &out)
	must(0, os.WriteFile(folder+name+".jsonl", out.Bytes(), 0o644))
	fmt.Printf("%5d %s\n", count, name)
}

// line prints one vector, with characters as they are.
func line(out io.Writer, vector map[string]any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	must(0, encoder.Encode(vector))
}

// Types have another name with every compilation.
var unique = regexp.MustCompile(`selfType\d+`)

// Go goes through maps in any order.
func texts(errors field.ErrorList) []string {
	found := []string{}
	for _, e := range errors {
		found = append(found, unique.ReplaceAllString(e.Error(), "selfType"))
	}
	sort.Strings(found)
	return found
}

// put sets the value at a path of names and returns the object.
func put(object any, path string, value any) any {
	first, rest, more := strings.Cut(path, "/")
	inner, _ := object.(map[string]any)
	if inner == nil {
		inner = map[string]any{}
	}
	if more {
		inner[first] = put(inner[first], rest, value)
	} else {
		inner[first] = value
	}
	return inner
}

func clone(value any) (copied any) {
	must(0, json.Unmarshal(must(json.Marshal(value)), &copied))
	return copied
}
