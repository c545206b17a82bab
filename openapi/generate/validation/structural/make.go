package main

import (
	"fmt"
	"math/rand"
	"sort"
)

// maker makes schemas, and objects that nearly fit them. The same seed makes the same.
type maker struct {
	*rand.Rand
}

type document = map[string]any

func newMaker(seed int64) *maker {
	return &maker{rand.New(rand.NewSource(seed))}
}

// Whether one of so many is drawn.
func (m *maker) one(of int) bool {
	return m.Intn(of) == 0
}

func pick[T any](m *maker, from ...T) T {
	return from[m.Intn(len(from))]
}

func (m *maker) root() document {
	schema := m.fields(3)
	schema["type"] = "object"
	return document{"type": "object", "properties": document{"spec": schema, "status": m.node(2)}}
}

// The properties of an object, and what restricts them.
func (m *maker) fields(depth int) document {
	properties := document{}
	for range 1 + m.Intn(4) {
		properties[pick(m, "a", "b", "c", "d", "e", "kind", "metadata")] = m.node(depth - 1)
	}
	if m.one(3) {
		delete(properties, "metadata")
	}
	schema := document{"properties": properties}
	if m.one(3) {
		schema["required"] = []any{pick(m, "a", "b", "z")}
	}
	if m.one(6) {
		schema["maxProperties"] = m.Intn(3)
	}
	if m.one(6) {
		schema["minProperties"] = m.Intn(4)
	}
	return schema
}

func (m *maker) node(depth int) document {
	schema := m.typed(depth)
	if m.one(6) {
		schema["nullable"] = true
	}
	if m.one(5) {
		m.alternatives(schema, depth)
	}
	if m.one(4) {
		schema["default"] = m.value(schema, 40)
	}
	if m.one(10) {
		schema["description"] = "what it is"
	}
	if m.one(20) {
		schema["title"] = "a title"
	}
	return schema
}

func (m *maker) typed(depth int) document {
	kinds := 6
	if depth > 0 {
		kinds = 12
	}
	switch m.Intn(kinds) {
	case 0, 1:
		return m.text()
	case 2:
		return m.number("integer", "int32", "int64", "odd")
	case 3:
		return m.number("number", "float", "double", "int32")
	case 4:
		return document{"type": "boolean"}
	case 5:
		schema := document{"x-kubernetes-int-or-string": true}
		if m.one(3) {
			schema["pattern"] = "^[0-9]+%?$"
		}
		return schema
	case 6, 7:
		schema := m.fields(depth)
		schema["type"] = "object"
		if m.one(4) {
			schema["x-kubernetes-preserve-unknown-fields"] = true
		}
		return schema
	case 8:
		schema := document{"type": "object", "additionalProperties": m.node(depth - 1)}
		if m.one(6) {
			schema["additionalProperties"] = m.one(2)
		}
		if m.one(4) {
			schema["maxProperties"] = m.Intn(3)
		}
		return schema
	case 9:
		schema := m.fields(depth)
		schema["type"] = "object"
		schema["x-kubernetes-embedded-resource"] = true
		if m.one(2) {
			schema["x-kubernetes-preserve-unknown-fields"] = true
		}
		delete(schema["properties"].(document), "metadata")
		delete(schema["properties"].(document), "kind")
		return schema
	default:
		return m.list(depth)
	}
}

func (m *maker) list(depth int) document {
	schema := document{"type": "array", "items": m.node(depth - 1)}
	switch m.Intn(4) {
	case 0:
		schema["items"] = document{"type": pick(m, "string", "integer", "number")}
		schema["x-kubernetes-list-type"] = "set"
	case 1:
		items := m.fields(depth)
		items["type"] = "object"
		schema["items"] = items
		schema["x-kubernetes-list-type"] = "map"
		schema["x-kubernetes-list-map-keys"] = pick(m, []any{"a"}, []any{"a", "b"})
	}
	if m.one(4) {
		schema["maxItems"] = m.Intn(3)
	}
	if m.one(5) {
		schema["minItems"] = m.Intn(3)
	}
	if m.one(8) {
		schema["uniqueItems"] = true
	}
	return schema
}

var formats = []string{
	"date", "date-time", "datetime", "duration", "email", "uuid", "uuid3", "uuid4", "uuid5", "ipv4", "ipv6", "cidr", "mac", "uri", "hostname",
	"byte", "password", "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "bsonobjectid", "k8s-short-name",
	"k8s-long-name", "odd", "int32",
}

func (m *maker) text() document {
	schema := document{"type": "string"}
	if m.one(4) {
		schema["maxLength"] = m.Intn(4)
	}
	if m.one(4) {
		schema["minLength"] = m.Intn(4)
	}
	if m.one(4) {
		schema["pattern"] = pick(m, "^a", "b$", "^\\d+$", "^[a-z]{1,3}$", "^\\w*$", "[^a]", "(?i)^A+$", "\\bab\\b", "^(a|b){2}$")
	}
	if m.one(2) {
		schema["format"] = pick(m, formats...)
	}
	if m.one(6) {
		schema["enum"] = []any{"a", "ab", pick[any](m, "b", 1, 65, nil, true)}
	}
	return schema
}

func (m *maker) number(kind string, formats ...string) document {
	schema := document{"type": kind}
	if m.one(2) {
		schema["format"] = pick(m, formats...)
	}
	if m.one(3) {
		schema["minimum"] = pick[any](m, 0, 1, -1, 1.5, 3000000000, 1e20)
	}
	if m.one(3) {
		schema["maximum"] = pick[any](m, 0, 1, 10, 2.5, 3000000000, 1e21)
	}
	if m.one(6) {
		schema["exclusiveMaximum"] = true
	}
	if m.one(6) {
		schema["exclusiveMinimum"] = true
	}
	if m.one(4) {
		schema["multipleOf"] = pick[any](m, 1, 2, 0.5, 0.1, 3, 0, -1)
	}
	if m.one(6) {
		schema["enum"] = []any{1, 2.5, pick[any](m, "a", 3, nil)}
	}
	return schema
}

// Adds a junction whose parts only restrict what the schema specifies.
func (m *maker) alternatives(schema document, depth int) {
	parts := []any{}
	for range 1 + m.Intn(3) {
		parts = append(parts, m.restriction(schema, depth))
	}
	switch m.Intn(4) {
	case 0:
		schema["allOf"] = parts
	case 1:
		schema["anyOf"] = parts
	case 2:
		schema["oneOf"] = parts
	default:
		schema["not"] = parts[0]
	}
}

func (m *maker) restriction(schema document, depth int) document {
	part := document{}
	switch schema["type"] {
	case "object":
		part["required"] = []any{pick(m, "a", "b", "c", "d")}
		if properties, ok := schema["properties"].(document); ok && m.one(2) {
			for _, name := range names(properties) {
				if inner, ok := properties[name].(document); ok && m.one(2) {
					part["properties"] = document{name: m.restriction(inner, depth-1)}
				}
			}
		}
	case "array":
		part[pick(m, "minItems", "maxItems")] = m.Intn(3)
	case "string":
		part[pick(m, "minLength", "maxLength")] = m.Intn(4)
	case "integer", "number":
		part[pick(m, "minimum", "maximum")] = m.Intn(5)
	case "boolean":
		part["enum"] = []any{m.one(2)}
	default:
		part["type"] = pick(m, "integer", "string")
	}
	if depth > 0 && m.one(5) {
		part["not"] = document{"enum": []any{pick[any](m, "a", 1, true)}}
	}
	return part
}

func names(of document) []string {
	var result []string
	for name := range of {
		result = append(result, name)
	}
	sort.Strings(result)
	return result
}

func (m *maker) object(schema document) document {
	object, ok := m.value(schema, 12).(document)
	if !ok {
		object = document{}
	}
	object["apiVersion"] = "example.com/v1"
	object["kind"] = "Widget"
	object["metadata"] = document{"name": "a"}
	if m.one(6) {
		object["metadata"].(document)["unknown"] = 1
	}
	return object
}

// A value that fits the schema, but for one mistake in so many places.
func (m *maker) value(schema document, mistakes int) any {
	if m.one(mistakes) {
		return pick[any](m, nil, "text", 7, 1.5, true, []any{}, document{}, document{"x": 1}, []any{"y", nil})
	}
	if enum, ok := schema["enum"].([]any); ok && !m.one(3) {
		return enum[m.Intn(len(enum))]
	}
	switch schema["type"] {
	case "object":
		return m.fill(schema, mistakes)
	case "array":
		items, _ := schema["items"].(document)
		list := []any{}
		for range m.Intn(4) {
			list = append(list, m.value(items, mistakes))
		}
		return list
	case "string":
		return m.textFor(schema)
	case "integer":
		return pick[any](m, 0, 1, 2, 3, -5, 6, 100, 5000000000, 4.0)
	case "number":
		return pick[any](m, 0, 1, 2.5, 0.1, -0.3, 1e10, 3e38, 1e39, 100000)
	case "boolean":
		return m.one(2)
	}
	return pick[any](m, 1, "1", "50%", "text")
}

func (m *maker) fill(schema document, mistakes int) document {
	object := document{}
	properties, _ := schema["properties"].(document)
	for _, name := range names(properties) {
		if !m.one(4) {
			object[name] = m.value(properties[name].(document), mistakes)
		}
	}
	if inner, ok := schema["additionalProperties"].(document); ok {
		for range m.Intn(3) {
			object[pick(m, "x", "y", "a.b")] = m.value(inner, mistakes)
		}
	} else if m.one(4) {
		object[pick(m, "y", "z")] = pick[any](m, 1, document{"w": 1}, []any{document{"v": 2}}, nil)
	}
	if schema["x-kubernetes-embedded-resource"] == true {
		object["apiVersion"] = pick[any](m, "v1", "a/b", "a/b/c", "")
		object["kind"] = pick[any](m, "Pod", "Odd Kind", "")
		if m.one(2) {
			object["metadata"] = pick[any](m, document{"name": "a"}, document{"labels": document{"a b": "c"}}, document{"unknown": 1}, document{"namespace": "B"})
		}
		if m.one(5) {
			delete(object, pick(m, "apiVersion", "kind"))
		}
	}
	return object
}

func (m *maker) textFor(schema document) string {
	if format, ok := schema["format"].(string); ok && !m.one(3) {
		if texts, ok := examples[format]; ok {
			return pick(m, texts...)
		}
	}
	return pick(m, "", "a", "ab", "abc", "b", "123", "äöü", "aa", "x<y>&", "a ab", "ABC", "٣")
}

// The object with some values changed, so that an update has something to compare with.
func (m *maker) changed(value any) any {
	switch value := value.(type) {
	case document:
		result := document{}
		for _, name := range names(value) {
			if !m.one(10) {
				result[name] = m.changed(value[name])
			}
		}
		return result
	case []any:
		result := []any{}
		for _, item := range value {
			if !m.one(10) {
				result = append(result, m.changed(item))
			}
		}
		if m.one(4) {
			m.Shuffle(len(result), func(i, j int) { result[i], result[j] = result[j], result[i] })
		}
		return result
	}
	if m.one(8) {
		return pick[any](m, "changed", 3, nil, false)
	}
	return value
}

var examples = map[string][]string{
	"date":           {"2024-02-29", "2023-02-29", "2024-1-1"},
	"date-time":      {"2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00", "2014-12-15T25:30:20Z", "2014-12-15 19:30:20Z"},
	"datetime":       {"2014-12-15T19:30:20Z", "2014-12-15T19:30Z"},
	"duration":       {"1h", "1.5s", "3 days", "0", "-1m", "2 fortnights", "1 Sec"},
	"email":          {"a@b", "Name <a@b.c>", "a", "a@", "a b@c"},
	"uuid":           {"a8098c1a-f86e-11da-bd1a-00112444be1e", "A8098C1AF86E11DABD1A00112444BE1E", "a8098c1a-f86e-11da-bd1a-00112444be1"},
	"uuid3":          {"bcd02e22-68f0-3046-a512-327cca9def8f", "bcd02e22-68f0-4046-a512-327cca9def8f"},
	"uuid4":          {"025b0d74-00a2-4048-bf57-227c5111bb34", "025b0d74-00a2-4048-7f57-227c5111bb34"},
	"uuid5":          {"886313e1-3b8a-5372-9b90-0c9aee199e5d", "886313e1-3b8a-4372-9b90-0c9aee199e5d"},
	"ipv4":           {"1.2.3.4", "010.1.1.1", "::ffff:1.2.3.4", "1.2.3", "1.2.3.256"},
	"ipv6":           {"::1", "fe80::1%eth0", "1.2.3.4", "1::2::3"},
	"cidr":           {"1.2.3.4/8", "1.2.3.4/33", "::/0", "1.2.3.4"},
	"mac":            {"01:02:03:04:05:06", "01-02-03-04-05-06", "0102.0304.0506", "01:02:03", "010203040506"},
	"uri":            {"http://a/b", "/a", "a", "http://a b", "mailto:x", "http://[::1]:80/", "http://a:b/", "/%zz"},
	"hostname":       {"example.com", "a-b", "ab-c", "a_b.com", "xn--a.de", "a..b"},
	"byte":           {"YQ==", "YQ=", "", "YWJj"},
	"isbn":           {"0321751043", "978-0321751041", "0321751044"},
	"isbn10":         {"0321751043", "3 401 01319 X", "1"},
	"isbn13":         {"978-0321751041", "978-0321751042"},
	"creditcard":     {"4111-1111-1111-1111", "4111111111111112", "5555555555554444"},
	"ssn":            {"111-11-1111", "111 11 1111", "111111111"},
	"hexcolor":       {"#FFFFFF", "fff", "#ff", "ggg"},
	"rgbcolor":       {"rgb(1,2,3)", "rgb( 100, 0 ,255 )", "rgb(256,0,0)", "rgb(1,2)"},
	"bsonobjectid":   {"507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901"},
	"k8s-short-name": {"a-b", "A", "-a", fmt.Sprintf("%064d", 0)},
	"k8s-long-name":  {"a.b-c", "a..b", "A"},
}
