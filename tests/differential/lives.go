package main

import (
	"fmt"
	"strings"
)

// lives makes one object of each sample, looks at it in every way, changes it in every way, and deletes it.
func lives(folder string, served []resource) (topic, error) {
	var samples []map[string]any
	if err := readTemplate(folder, "lives.yaml", &samples); err != nil {
		return topic{}, err
	}
	made := topic{name: "lives"}
	for at, sample := range samples {
		of, err := find(served, sample)
		if err != nil {
			return topic{}, err
		}
		for i, step := range life(of, sample, has(served, of, "status")) {
			step.name = fmt.Sprintf("lives/%s-%d/%d", of.Kind, at, i+1)
			made.steps = append(made.steps, step)
		}
	}
	return made, nil
}

func find(served []resource, sample map[string]any) (resource, error) {
	for _, found := range served {
		if found.apiVersion == sample["apiVersion"] && found.Kind == sample["kind"] && !strings.Contains(found.Name, "/") {
			return found, nil
		}
	}
	return resource{}, fmt.Errorf("%v %v is not served", sample["apiVersion"], sample["kind"])
}

func has(served []resource, of resource, sub string) bool {
	for _, found := range served {
		if found.apiVersion == of.apiVersion && found.Name == of.Name+"/"+sub {
			return true
		}
	}
	return false
}

func life(of resource, sample map[string]any, status bool) []step {
	metadata := sample["metadata"].(map[string]any)
	name := metadata["name"].(string)
	// What nobody holds goes, sooner or later.
	gone := 404
	if metadata["finalizers"] != nil {
		gone = 0
	}
	at := of.path() + "/" + name
	self := of.path() + "?fieldSelector=metadata.name%3D" + name
	applied := text(map[string]any{
		"apiVersion": of.apiVersion, "kind": of.Kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"applied": "yes", "merged": "no"}},
	})
	accept := func(what string) map[string]string { return map[string]string{"Accept": what} }
	steps := []step{
		{method: "POST", path: of.path() + "?dryRun=All", body: text(sample)},
		{method: "POST", path: of.path(), body: text(sample), want: 201},
		{method: "POST", path: of.path(), body: text(sample)},
		{method: "GET", path: at},
		{method: "GET", path: at, header: accept(asTable)},
		{method: "GET", path: at, header: accept(asMetadata)},
		{method: "GET", path: at, header: accept(inProtobuf)},
		{method: "GET", path: self},
		{method: "GET", path: self, header: accept(asTable)},
		{method: "GET", path: self, header: accept(asList)},
		{method: "PUT", path: at, body: text(sample)},
		{method: "MERGE", path: at, body: `{"metadata":{"labels":{"merged":"yes"}}}`},
		{method: "STRATEGIC", path: at, body: `{"metadata":{"annotations":{"strategic":"yes"}}}`},
		{method: "JSONPATCH", path: at, body: `[{"op":"add","path":"/metadata/annotations/patched","value":"yes"}]`},
		{method: "APPLY", path: at + "?fieldManager=applier", body: applied},
		{method: "APPLY", path: at + "?fieldManager=applier&force=true", body: applied},
		{method: "GET", path: at},
	}
	if status {
		steps = append(steps,
			step{method: "GET", path: at + "/status"},
			step{method: "MERGE", path: at + "/status", body: `{"metadata":{"labels":{"status":"yes"}}}`},
			step{method: "PUT", path: at + "/status", body: text(sample)})
	}
	return append(steps,
		step{method: "DELETE", path: at + "?dryRun=All"},
		step{method: "DELETE", path: at},
		step{method: "GET", path: at, until: gone})
}
