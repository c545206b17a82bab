// Writes how Kubernetes prints the objects in objects/, for the tests that compare.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	definitions "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"
	registration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"
	"sigs.k8s.io/yaml"
)

// vector is one line of the file: columns of a kind, rows of objects, or a duration.
type vector struct {
	Group      string                         `json:"group"`
	Version    string                         `json:"version,omitempty"`
	Kind       string                         `json:"kind"`
	Columns    []metav1.TableColumnDefinition `json:"columns,omitempty"`
	Objects    []json.RawMessage              `json:"objects,omitempty"`
	List       bool                           `json:"list,omitempty"`
	Rows       [][]any                        `json:"rows,omitempty"`
	Conditions []metav1.TableRowCondition     `json:"conditions,omitempty"`
	Nanos      *time.Duration                 `json:"nanos,omitempty"`
	Text       string                         `json:"text,omitempty"`
}

var (
	out       bytes.Buffer
	generator = printers.NewTableGenerator().With(internalversion.AddHandlers)
	described = map[string]bool{}
	covered   = map[reflect.Type]bool{}
)

func main() {
	registration.Install(legacyscheme.Scheme)
	extensions.Install(legacyscheme.Scheme)
	files, err := filepath.Glob("objects/*.yaml")
	must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		for _, document := range strings.Split(string(text), "\n---\n") {
			printDocument(file, document)
		}
	}
	for _, length := range durations() {
		write(vector{Nanos: &length, Text: duration.HumanDuration(length)})
	}
	internalversion.AddHandlers(everyKind{})
	must(os.WriteFile("../../src/print/vectors.jsonl", out.Bytes(), 0o644))
	writeCustom("../../src/print/custom/vectors.jsonl")
	writePaths("../../src/jsonpath/vectors.jsonl")
	writeScales("../../src/jsonpath/scales.jsonl")
}

// everyKind fails for a kind that Kubernetes prints and no object shows.
type everyKind struct{}

func (everyKind) TableHandler(_ []metav1.TableColumnDefinition, printer any) error {
	kind := reflect.TypeOf(printer).In(0)
	if !covered[kind] && !strings.HasSuffix(kind.Elem().Name(), "List") && kind.Elem().Name() != "Status" {
		panic(fmt.Sprintf("no object of %v", kind))
	}
	return nil
}

func printDocument(file, document string) {
	realNow := time.Now().Truncate(time.Second)
	if time.Since(realNow) > 300*time.Millisecond {
		time.Sleep(time.Until(realNow.Add(time.Second)))
		realNow = time.Now().Truncate(time.Second)
	}
	object, _ := decode(file, document, realNow)
	table := tableOf(object)
	if time.Since(realNow) > 900*time.Millisecond {
		panic("too slow: the ages are those of the next second")
	}
	fixed, gvk := decode(file, document, fixedNow)
	if table == nil {
		table = must1(ageless(fixed).ConvertToTable(context.TODO(), fixed, nil))
	}
	covered[reflect.TypeOf(object)] = true
	writeTable(fixed, gvk, table)
}

func decode(file, document string, now time.Time) (runtime.Object, schema.GroupVersionKind) {
	text, err := yaml.YAMLToJSONStrict([]byte(withTimes(document, now)))
	if err != nil {
		panic(fmt.Sprintf("%s: %v\n%s", file, err, document))
	}
	object, gvk, err := legacyscheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		panic(fmt.Sprintf("%s: %v\n%s", file, err, document))
	}
	// As it would come out of a store, where empty lists are not kept.
	return must1(runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), encode(object, *gvk))), *gvk
}

func encode(object runtime.Object, gvk schema.GroupVersionKind) []byte {
	return must1(runtime.Encode(legacyscheme.Codecs.LegacyCodec(gvk.GroupVersion()), object))
}

// tableOf is nil for a kind without a printer.
func tableOf(object runtime.Object) *metav1.Table {
	switch reflect.TypeOf(object).Elem().Name() {
	case "APIService":
		return must1((&etcd.REST{}).ConvertToTable(context.TODO(), object, nil))
	case "CSIStorageCapacity", "CustomResourceDefinition":
		// The first has a printer, which no server asks; the second shows no age.
		return nil
	}
	table, err := generator.GenerateTable(object, printers.GenerateOptions{Wide: true})
	if err != nil && strings.Contains(err.Error(), "no table handler") {
		return nil
	}
	must(err)
	return table
}

// ageless prints what has times in its table, but nothing that depends on the clock.
func ageless(object runtime.Object) rest.TableConvertor {
	if reflect.TypeOf(object).Elem().Name() == "CustomResourceDefinition" {
		return definitions.New()
	}
	return rest.NewDefaultTableConvertor(schema.GroupResource{})
}

func writeTable(object runtime.Object, gvk schema.GroupVersionKind, table *metav1.Table) {
	items, isList := []runtime.Object{object}, meta.IsListType(object)
	if isList {
		items = must1(meta.ExtractList(object))
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	if !described[gvk.GroupKind().String()] {
		described[gvk.GroupKind().String()] = true
		write(vector{Group: gvk.Group, Kind: gvk.Kind, Columns: table.ColumnDefinitions})
	}
	printed := vector{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, List: isList}
	for _, item := range items {
		printed.Objects = append(printed.Objects, json.RawMessage(encode(item, gvk)))
	}
	for _, row := range table.Rows {
		printed.Rows = append(printed.Rows, row.Cells)
		printed.Conditions = append(printed.Conditions, row.Conditions...)
	}
	write(printed)
}

func write(line vector) {
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(line))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}
