package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// resource is one that the real server says it serves.
type resource struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs"`
	apiVersion string
}

func (r resource) root() string {
	if r.apiVersion == "v1" {
		return "/api/v1"
	}
	return "/apis/" + r.apiVersion
}

// path is that of the collection.
func (r resource) path() string {
	if r.Namespaced {
		return r.root() + "/namespaces/${ns}/" + r.Name
	}
	return r.root() + "/" + r.Name
}

func (r resource) can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// discover asks what there is, group by group.
func discover(kube *server) ([]resource, error) {
	versions := []string{"v1"}
	var groups struct {
		Groups []struct {
			Versions []struct {
				GroupVersion string `json:"groupVersion"`
			} `json:"versions"`
		} `json:"groups"`
	}
	if err := ask(kube, "/apis", &groups); err != nil {
		return nil, err
	}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			versions = append(versions, version.GroupVersion)
		}
	}
	var all []resource
	for _, version := range versions {
		var list struct {
			Resources []resource `json:"resources"`
		}
		if err := ask(kube, resource{apiVersion: version}.root(), &list); err != nil {
			return nil, err
		}
		for _, found := range list.Resources {
			found.apiVersion = version
			all = append(all, found)
		}
	}
	return all, nil
}

func ask(server *server, path string, into any) error {
	told, err := server.do(step{method: "GET", path: path}, nil)
	if err != nil {
		return err
	}
	if told.status != 200 {
		return fmt.Errorf("%s: %s answers %d", server.name, path, told.status)
	}
	return json.Unmarshal([]byte(show(told.body)), into)
}

const (
	asTable    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	asMetadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
	asList     = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
	inProtobuf = "application/vnd.kubernetes.protobuf"
)

// kinds asks for everything that is served in all the ways in which nothing is found or made.
func kinds(served []resource) topic {
	made := topic{name: "kinds"}
	for _, found := range served {
		parent, sub, isSub := strings.Cut(found.Name, "/")
		collection := found.path()
		if isSub {
			collection = strings.TrimSuffix(collection, "/"+sub)
		}
		steps := missing(found, collection, sub)
		if !isSub {
			steps = append(steps, empty(found, collection)...)
		}
		for i, step := range steps {
			step.name = fmt.Sprintf("kinds/%s.%s/%s/%d", parent, found.apiVersion, sub, i+1)
			made.steps = append(made.steps, step)
		}
	}
	return made
}

// missing asks for an object that is not there, by every method.
func missing(of resource, collection, sub string) []step {
	at := collection + "/missing"
	if sub != "" {
		at += "/" + sub
	}
	body := text(map[string]any{"apiVersion": of.apiVersion, "kind": of.Kind, "metadata": map[string]any{"name": "missing"}})
	steps := []step{{method: "PUT", path: at, body: body}, {method: "MERGE", path: at, body: "{}"}}
	// What does not answer a GET with an object would speak to nodes.
	if of.can("get") || sub == "" {
		steps = append(steps, step{method: "GET", path: at})
	}
	if sub == "" {
		steps = append(steps,
			step{method: "DELETE", path: at}, step{method: "STRATEGIC", path: at, body: "{}"},
			step{method: "PUT", path: collection + "/other", body: body},
			step{method: "APPLY", path: at + "?dryRun=All&fieldManager=differential", body: body})
	}
	return steps
}

// empty asks for lists with nothing in them, and makes objects that say nothing.
func empty(of resource, collection string) []step {
	none := collection + "?labelSelector=nobody%3Dhas"
	dry := collection + "?dryRun=All"
	return []step{
		{method: "GET", path: none},
		{method: "GET", path: none, header: map[string]string{"Accept": asTable}},
		{method: "GET", path: none, header: map[string]string{"Accept": asList}},
		{method: "GET", path: none, header: map[string]string{"Accept": inProtobuf}},
		{method: "GET", path: none + "&fieldSelector=metadata.name%3Dx"},
		{method: "GET", path: collection + "?fieldSelector=spec.nonsense%3Dx"},
		{method: "GET", path: collection + "?labelSelector=%21%21"},
		{method: "DELETE", path: none},
		{method: "POST", path: dry, body: "{}"},
		{method: "POST", path: dry, body: text(map[string]any{"metadata": map[string]any{"name": "Not_A_Name"}})},
		{method: "POST", path: dry, body: text(map[string]any{"metadata": map[string]any{"generateName": "some-"}})},
		{method: "POST", path: dry, body: `{"apiVersion":"wrong/v1","kind":"` + of.Kind + `"}`},
		{method: "POST", path: dry, body: `{"apiVersion":"` + of.apiVersion + `","kind":"Wrong"}`},
		{method: "POST", path: dry + "&fieldValidation=Strict", body: `{"metadata":{"name":"x","nonsense":1},"spec":7,"nonsense":{}}`},
		{method: "POST", path: dry, body: `{"metadata":{"name":"x","labels":{"-":"-"},"annotations":{"a":1}}}`},
		{method: "POST", path: collection + "/name", body: "{}"},
	}
}
