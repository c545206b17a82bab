package main

import (
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// scale is what a server reads and writes where a definition says how many there are.
type scale struct {
	Path   string         `json:"path"`
	Object map[string]any `json:"object"`
	Number *int64         `json:"number,omitempty"`
	// NoNumber, NoText, NotSet are the errors of reading either, and of writing.
	NoNumber string         `json:"noNumber,omitempty"`
	Text     string         `json:"text,omitempty"`
	NoText   string         `json:"noText,omitempty"`
	Set      map[string]any `json:"set,omitempty"`
	NotSet   string         `json:"notSet,omitempty"`
}

var scalePaths = []string{
	".spec.replicas", ".status.replicas", ".spec.name", ".spec.missing", ".spec.deep.er.replicas", ".spec.nothing",
	".spec.nothing.deeper", ".spec.limits.cpu", ".spec.list", ".spec.map", ".spec.map.a.x", ".spec.float", ".spec.flag.x",
	".spec.list.x", ".spec..x", ".spec.", ".metadata.name.x", ".spec.numbers", ".spec.huge", ".spec.replicas.x",
}

func writeScales(path string) {
	var lines strings.Builder
	for _, path := range scalePaths {
		fields := strings.Split(strings.TrimPrefix(path, "."), ".")
		for _, object := range customObjects(fixedNow) {
			line := scale{Path: path, Object: object}
			number, there, err := unstructured.NestedInt64(object, fields...)
			if err != nil {
				line.NoNumber = err.Error()
			} else if there {
				line.Number = &number
			}
			line.Text, _, err = unstructured.NestedString(object, fields...)
			if err != nil {
				line.NoText = err.Error()
			}
			changed := runtime.DeepCopyJSON(object)
			if err := unstructured.SetNestedField(changed, int64(7), fields...); err != nil {
				line.NotSet = err.Error()
			} else {
				line.Set = changed
			}
			writeLine(&lines, line)
		}
	}
	must(os.WriteFile(path, []byte(lines.String()), 0o644))
}
