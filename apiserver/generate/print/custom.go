package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// customTable is what custom objects look like in the columns of one definition.
type customTable struct {
	Additional []any                          `json:"additional"`
	Columns    []metav1.TableColumnDefinition `json:"columns"`
	Objects    []any                          `json:"objects"`
	Rows       [][]any                        `json:"rows"`
}

// writeCustom writes a table for each list of columns in custom/columns.yaml.
func writeCustom(path string) {
	var lists [][]apiextensions.CustomResourceColumnDefinition
	text := must1(os.ReadFile("custom/columns.yaml"))
	must(yaml.UnmarshalStrict(text, &lists))
	var untyped [][]any
	must(yaml.Unmarshal(text, &untyped))
	var lines strings.Builder
	for at, columns := range lists {
		table := customTable{Additional: untyped[at]}
		served := columns
		if len(served) == 0 {
			// What a server does where a definition has no columns.
			description := metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]
			served = []apiextensions.CustomResourceColumnDefinition{
				{Name: "Age", Type: "date", Description: description, JSONPath: ".metadata.creationTimestamp"},
			}
		}
		// Of an error, a server only says something in its log.
		convertor, _ := tableconvertor.New(served)
		realNow := wholeSecond()
		for _, object := range customObjects(realNow) {
			printed := must1(convertor.ConvertToTable(context.TODO(), &unstructured.Unstructured{Object: object}, nil))
			table.Columns = printed.ColumnDefinitions
			table.Rows = append(table.Rows, printed.Rows[0].Cells)
		}
		if time.Since(realNow) > 900*time.Millisecond {
			panic("too slow: the ages are those of the next second")
		}
		for _, object := range customObjects(fixedNow) {
			table.Objects = append(table.Objects, object)
		}
		writeLine(&lines, table)
	}
	must(os.WriteFile(path, []byte(lines.String()), 0o644))
}

// customObjects are those of custom/objects.yaml, as they would come out of a store.
func customObjects(now time.Time) []map[string]any {
	var objects []map[string]any
	text := string(must1(os.ReadFile("custom/objects.yaml")))
	for _, document := range strings.Split(withTimes(text, now), "\n---\n") {
		var object unstructured.Unstructured
		must(object.UnmarshalJSON(must1(yaml.YAMLToJSON([]byte(document)))))
		objects = append(objects, object.Object)
	}
	return objects
}

// wholeSecond waits for the beginning of a second, and tells which it is.
func wholeSecond() time.Time {
	now := time.Now().Truncate(time.Second)
	if time.Since(now) > 300*time.Millisecond {
		time.Sleep(time.Until(now.Add(time.Second)))
		now = time.Now().Truncate(time.Second)
	}
	return now
}

func writeLine(lines *strings.Builder, line any) {
	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(line))
}
