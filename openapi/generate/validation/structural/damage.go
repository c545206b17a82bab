package main

// Mistakes that definitions are made with, one to a schema.
var mistakes = []document{
	{"type": ""}, {"type": "array"}, {"type": "object"}, {"nullable": true}, {"uniqueItems": true},
	{"x-kubernetes-list-type": "odd"}, {"x-kubernetes-list-type": "set"}, {"x-kubernetes-list-type": "map"}, {"x-kubernetes-list-map-keys": []any{"a", "a"}},
	{"x-kubernetes-map-type": "atomic"}, {"x-kubernetes-map-type": "odd"}, {"x-kubernetes-embedded-resource": true},
	{"x-kubernetes-preserve-unknown-fields": true}, {"x-kubernetes-int-or-string": true}, {"default": "a"}, {"default": document{"a": 1}}, {"default": false},
	{"additionalProperties": true}, {"additionalProperties": document{"type": "string", "default": "a"}}, {"additionalProperties": document{}},
	{"pattern": "("}, {"title": "t"}, {"description": "d"}, {"properties": document{"metadata": document{"type": "object"}, "x": document{}}},
	{"items": document{"type": "string"}}, {"items": document{}}, {"anyOf": []any{document{"type": "integer"}, document{"type": "string"}}},
	{"allOf": []any{document{"properties": document{"q": document{"minLength": 1}}}}}, {"not": document{"items": document{"maxLength": 1}}},
	{"x-kubernetes-validations": []any{document{"rule": " "}}}, {"x-kubernetes-validations": []any{document{"rule": "true", "fieldPath": ".q", "reason": "Odd"}}},
}

// Makes a mistake somewhere in the schema.
func (m *maker) damage(schema document) {
	places := everywhere(schema, nil)
	place := places[m.Intn(len(places))]
	for name, value := range copied(mistakes[m.Intn(len(mistakes))]).(document) {
		place[name] = value
	}
}

func everywhere(schema document, found []document) []document {
	found = append(found, schema)
	for _, name := range names(schema) {
		switch inner := schema[name].(type) {
		case document:
			switch name {
			case "properties":
				for _, property := range names(inner) {
					found = everywhere(inner[property].(document), found)
				}
			case "items", "additionalProperties", "not":
				found = everywhere(inner, found)
			}
		case []any:
			if name == "allOf" || name == "anyOf" || name == "oneOf" {
				for _, part := range inner {
					found = everywhere(part.(document), found)
				}
			}
		}
	}
	return found
}
