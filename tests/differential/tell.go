package main

import (
	"fmt"
	"time"
)

// listener is one server as a topic goes through it.
type listener struct {
	server    *server
	memory    *memory
	variables map[string]string
	// None is left for a server in which something did not come about that a story waited for.
	patience time.Duration
}

func (l *listener) ask(step step) answer {
	l.memory.expect(step.body)
	told, err := l.server.await(step, l.variables, l.patience)
	if step.until != 0 && told.status != step.until {
		l.patience = 0
	}
	if err != nil {
		// No answer is an answer too, if only one of them gives it.
		told = answer{body: "no answer"}
		fmt.Println(step.name, err)
	}
	for name, path := range step.keep {
		l.variables[name] = part(told.body, path)
		l.variables[name+"_escaped"] = escape(l.variables[name])
	}
	told.body = abridge(step, told.body)
	return l.memory.answer(told)
}

// tell goes through a topic with both servers.
func tell(topic topic, kube, hanse *server, report *report) error {
	space := "differential-" + topic.name
	listeners := make([]*listener, 2)
	for i, server := range []*server{kube, hanse} {
		listeners[i] = &listener{server, remember(), map[string]string{"ns": space}, patience}
		if err := prepare(listeners[i], space); err != nil {
			return err
		}
	}
	report.begin(topic.name)
	for _, step := range topic.steps {
		path := fill(step.path, listeners[0].variables)
		report.add(step, path, listeners[0].ask(step), listeners[1].ask(step))
	}
	return nil
}

// prepare makes the namespace, and waits for what controllers put there.
func prepare(listener *listener, space string) error {
	body := fmt.Sprintf(`{"metadata":{"name":%q}}`, space)
	made, err := listener.server.do(step{method: "POST", path: "/api/v1/namespaces", body: body}, nil)
	if err != nil {
		return err
	}
	if made.status != 201 {
		return fmt.Errorf("%s: a namespace was not made: %v", listener.server.name, made.body)
	}
	for _, path := range []string{"serviceaccounts/default", "configmaps/kube-root-ca.crt"} {
		path = "/api/v1/namespaces/" + space + "/" + path
		there, err := listener.server.await(step{method: "GET", path: path, until: 200}, nil, patience)
		if err != nil {
			return err
		}
		if there.status != 200 {
			return fmt.Errorf("%s: %s did not come about", listener.server.name, path)
		}
	}
	return nil
}

// abridge leaves of a body what is compared: of OpenAPI documents the kinds, without the words.
func abridge(step step, body any) any {
	if len(step.path) > 8 && step.path[:9] == "/openapi/" {
		return withoutWords(kindsOf(body))
	}
	return body
}

// kindsOf leaves the schemas of an OpenAPI document, of either version.
func kindsOf(body any) any {
	document, _ := body.(map[string]any)
	if components, ok := document["components"].(map[string]any); ok {
		return components["schemas"]
	}
	if definitions, ok := document["definitions"]; ok {
		return definitions
	}
	return body
}

func withoutWords(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inside := range value {
			_, text := inside.(string)
			if !(key == "description" && text) && key != "serverRelativeURL" && key != "info" {
				kept[key] = withoutWords(inside)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, inside := range value {
			kept[i] = withoutWords(inside)
		}
		return kept
	}
	return value
}
