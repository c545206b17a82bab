package main

import "strings"

// documents asks for the OpenAPI documents of everything that is served.
func documents(_ string, served []resource) (topic, error) {
	made := topic{name: "openapi"}
	seen := map[string]bool{}
	for _, found := range served {
		if !seen[found.apiVersion] {
			seen[found.apiVersion] = true
			name := "openapi/" + found.apiVersion
			path := "/openapi/v3" + strings.TrimSuffix(found.root(), "/")
			made.steps = append(made.steps, step{name: name, method: "GET", path: path, want: 200})
		}
	}
	made.steps = append(made.steps, step{name: "openapi/v2", method: "GET", path: "/openapi/v2", want: 200})
	return made, nil
}
