package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

const schemaGroup = "random.differential.example"

// schemas are custom resources with schemas of all sorts, and objects that fit them, or nearly.
func schemas(kept seeds) topic {
	made := topic{name: "crd-random"}
	var objects []step
	throw(made.name, kept, func(name string, at int, dice *rand.Rand) {
		schema := randomObject(dice, 3)
		plural := fmt.Sprintf("case%ds", at)
		made.steps = append(made.steps, step{
			name: name, method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			body: text(definition(plural, at, schema)),
		})
		collection := fmt.Sprintf("/apis/%s/v1/namespaces/${ns}/%s", schemaGroup, plural)
		add := func(step step) { step.name = name; objects = append(objects, step) }
		add(step{method: "GET", path: collection, until: 200})
		for i := range 4 {
			object, other := randomCustom(schema, at, i, dice), randomCustom(schema, at, i, dice)
			validation := "?fieldValidation=" + oneOf(dice, "Ignore", "Warn", "Strict")
			one := fmt.Sprintf("%s/object-%d", collection, i)
			add(step{method: "POST", path: collection + validation, body: text(object)})
			add(step{method: "PUT", path: one + validation, body: text(other)})
			add(step{method: "MERGE", path: one, body: text(map[string]any{"spec": other["spec"]})})
			add(step{method: "APPLY", path: one + "?force=true&fieldManager=one", body: text(object)})
		}
		add(step{method: "DELETE", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + plural + "." + schemaGroup})
	})
	// All are made before the first is used: it takes the server a while to serve them.
	made.steps = append(made.steps, objects...)
	return made
}

func definition(plural string, at int, schema map[string]any) map[string]any {
	whole := map[string]any{"type": "object", "properties": map[string]any{"spec": schema}}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + schemaGroup},
		"spec": map[string]any{
			"group": schemaGroup, "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "kind": fmt.Sprintf("Case%d", at)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": whole},
			}},
		},
	}
}

func randomCustom(schema map[string]any, at, number int, dice *rand.Rand) map[string]any {
	return map[string]any{
		"apiVersion": schemaGroup + "/v1", "kind": fmt.Sprintf("Case%d", at),
		"metadata": map[string]any{"name": fmt.Sprintf("object-%d", number)},
		"spec":     randomValue(schema, dice),
	}
}

// randomSchema is a structural schema of no more than so many levels.
func randomSchema(dice *rand.Rand, levels int) map[string]any {
	sorts := []func(*rand.Rand, int) map[string]any{randomString, randomInteger, randomNumber, randomFlag, randomEither}
	if levels > 0 {
		sorts = append(sorts, randomObject, randomObject, randomList, randomList, randomMap)
	}
	schema := oneOf(dice, sorts...)(dice, levels)
	if dice.IntN(8) == 0 {
		schema["nullable"] = true
	}
	return schema
}

func randomObject(dice *rand.Rand, levels int) map[string]any {
	properties := map[string]any{}
	for i := range 1 + dice.IntN(4) {
		properties[fmt.Sprintf("f%d", i)] = randomSchema(dice, levels-1)
	}
	schema := map[string]any{"type": "object", "properties": properties}
	names := slices.Sorted(maps.Keys(properties))
	if dice.IntN(3) == 0 {
		schema["required"] = []any{oneOf(dice, names...)}
	}
	if dice.IntN(6) == 0 {
		schema["x-kubernetes-preserve-unknown-fields"] = true
	}
	name := oneOf(dice, names...)
	schema = ruled(schema, dice, "has(self."+name+")", "!has(self."+name+")", "self == oldSelf",
		"self.?"+name+".hasValue()", "!has(self."+name+") || has(oldSelf."+name+")", "self.?"+name+".orValue(null) != 'a'",
		"has(oldSelf."+name+") ? has(self."+name+") : true")
	if rules, ok := schema["x-kubernetes-validations"].([]any); ok && dice.IntN(3) == 0 {
		rules[0].(map[string]any)["fieldPath"] = "." + name
	}
	return schema
}

func randomMap(dice *rand.Rand, levels int) map[string]any {
	schema := map[string]any{"type": "object", "additionalProperties": randomSchema(dice, levels-1)}
	bound(schema, dice, "minProperties", "maxProperties", 3)
	if _, bounded := schema["maxProperties"]; !bounded {
		schema["maxProperties"] = 9
	}
	return ruled(schema, dice, "self.size() < 3", "self.all(key, key != 'k1')", "!('k0' in self)",
		"self.exists_one(key, key.startsWith('k'))", "self.map(key, key).size() == self.size()",
		"self.filter(key, key > 'k0').size() < 2", "self.all(key, key in oldSelf)", "self.transformList(k, v, k).isSorted()")
}

func randomList(dice *rand.Rand, levels int) map[string]any {
	schema := map[string]any{"type": "array", "items": randomSchema(dice, levels-1)}
	bound(schema, dice, "minItems", "maxItems", 3)
	if _, bounded := schema["maxItems"]; !bounded {
		schema["maxItems"] = 9
	}
	switch dice.IntN(4) {
	case 0:
		schema["items"] = randomString(dice, 0)
		schema["x-kubernetes-list-type"] = "set"
	case 1:
		key := map[string]any{"type": "string", "maxLength": 5}
		schema["items"] = map[string]any{
			"type": "object", "required": []any{"key"},
			"properties": map[string]any{"key": key, "value": randomSchema(dice, levels-2)},
		}
		schema["x-kubernetes-list-type"] = "map"
		schema["x-kubernetes-list-map-keys"] = []any{"key"}
	}
	return ruled(schema, dice, "self.size() != 1", "self.exists(x, true)", "self.filter(x, x == x).size() < 3",
		"self.map(x, 1).sum() < 3", "size(self) >= size(oldSelf)", "self.all(x, self.exists_one(y, x == y))",
		"self.all(i, x, i < 2)", "self.size() == 0 || self[0] == self[self.size() - 1]")
}

func randomString(dice *rand.Rand, _ int) map[string]any {
	schema := map[string]any{"type": "string", "maxLength": 12}
	switch dice.IntN(5) {
	case 0:
		schema["enum"] = []any{"a", "b", "abc"}
	case 1:
		schema["pattern"] = oneOf(dice, "^a", "^[a-c]+$", "b?c$")
	case 2:
		schema["format"] = oneOf(dice, "date", "date-time", "ipv4", "ipv6", "uuid", "duration", "byte", "email", "nonsense")
	case 3:
		bound(schema, dice, "minLength", "maxLength", 4)
	}
	maybeDefault(schema, dice, "abc")
	return ruled(schema, dice, textRules(schema)...)
}

// textRules are rules that go with the type that the format of a text makes of it.
func textRules(schema map[string]any) []string {
	switch schema["format"] {
	case "date", "date-time":
		return []string{"self.getFullYear() > 2025", "self == oldSelf", "self - self == duration('0s')"}
	case "duration":
		return []string{"self > duration('30m')", "self >= oldSelf", "self.getHours() == 1"}
	case "byte":
		return []string{"self.size() > 1", "self == oldSelf", "self != b'x'"}
	}
	return []string{
		"self.startsWith('a')", "self != 'b'", "self.size() > 1 || self == ''", "self == oldSelf",
		"self.matches('^[a-z]*$')", "self.upperAscii() == self", "!self.contains('c')", "self.indexOf('b') < 1",
		"isQuantity(self) && quantity(self).sign() == 1", "isIP(self)", "self.replace('a', 'b') != self",
		"self in ['a', 'abc', '1h']", "self.split('b').size() == 1", "int(self) > 1", "!format.dns1123Label().validate(self).hasValue()",
		"duration(self) > duration('1m')", "isURL(self) || self == 'a'", "'%s!'.format([self]).endsWith('!')",
	}
}

func randomInteger(dice *rand.Rand, _ int) map[string]any {
	schema := map[string]any{"type": "integer"}
	bound(schema, dice, "minimum", "maximum", 9)
	switch dice.IntN(5) {
	case 0:
		schema["multipleOf"] = 3
	case 1:
		schema["format"] = oneOf(dice, "int32", "int64")
	case 2:
		schema["exclusiveMaximum"], schema["maximum"] = true, 8
	}
	maybeDefault(schema, dice, 3)
	return ruled(schema, dice, "self > 2", "self % 2 == 1", "self >= oldSelf", "10 / self > 1", "self in [1, 2, 3]",
		"double(self) / 2.0 > 1.5", "string(self).size() == 1", "self - 9223372036854775807 < 0", "math.abs(self) == self")
}

func randomNumber(dice *rand.Rand, _ int) map[string]any {
	schema := map[string]any{"type": "number"}
	bound(schema, dice, "minimum", "maximum", 9)
	maybeDefault(schema, dice, 2.5)
	return ruled(schema, dice, "self < 5.5", "self == self", "int(self) == 2", "self >= oldSelf", "self > 1")
}

func randomFlag(dice *rand.Rand, _ int) map[string]any {
	schema := map[string]any{"type": "boolean"}
	maybeDefault(schema, dice, true)
	return ruled(schema, dice, "self", "!self")
}

func randomEither(dice *rand.Rand, _ int) map[string]any {
	schema := map[string]any{"x-kubernetes-int-or-string": true, "maxLength": 12}
	return ruled(schema, dice, "type(self) == int", "type(self) == string ? self.endsWith('%') : self > 0", "self != '1'", "self == 1")
}

func bound(schema map[string]any, dice *rand.Rand, least, most string, limit int) {
	if dice.IntN(4) == 0 {
		schema[least] = dice.IntN(3)
	}
	if dice.IntN(4) == 0 {
		schema[most] = 2 + dice.IntN(limit)
	}
}

func maybeDefault(schema map[string]any, dice *rand.Rand, value any) {
	if dice.IntN(5) == 0 {
		schema["default"] = value
	}
}

func ruled(schema map[string]any, dice *rand.Rand, rules ...string) map[string]any {
	if dice.IntN(4) == 0 {
		rule := map[string]any{"rule": oneOf(dice, rules...)}
		switch dice.IntN(4) {
		case 0:
			rule["message"] = "is not as it should be"
		case 1:
			rule["messageExpression"] = oneOf(dice, "'not as it should be: ' + string(1 + 1)", "true ? '' : 'x'", "' '", "'a\\nb'", "string(1 / 0)")
		case 2:
			rule["reason"] = oneOf(dice, "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
		}
		if strings.Contains(rule["rule"].(string), "oldSelf") && dice.IntN(4) == 0 {
			// Rules about what was before may be asked of what is new, too.
			rule["rule"] = "!oldSelf.hasValue() || self == oldSelf.value()"
			rule["optionalOldSelf"] = true
		}
		schema["x-kubernetes-validations"] = []any{rule}
	}
	return schema
}

// randomValue fits the schema most of the time.
func randomValue(schema map[string]any, dice *rand.Rand) any {
	if dice.IntN(25) == 0 {
		return oneOf[any](dice, nil, "x", 7, -1.5, true, []any{}, []any{"a", "a"}, map[string]any{}, map[string]any{"unknown": 1})
	}
	switch schema["type"] {
	case "object":
		return randomFields(schema, dice)
	case "array":
		items := []any{}
		for range dice.IntN(4) {
			items = append(items, randomValue(schema["items"].(map[string]any), dice))
		}
		return items
	case "string":
		return oneOf[any](dice, "a", "b", "abc", "", "2026-01-02", "2026-01-02T03:04:05Z", "10.1.2.3", "::1", "1h", "aGk=")
	case "integer":
		return dice.IntN(12) - 1
	case "number":
		return oneOf[any](dice, 0, 1, 2.5, 5.5, 9, 10.25)
	case "boolean":
		return dice.IntN(2) == 0
	}
	return oneOf[any](dice, 1, "1", "80%")
}

func randomFields(schema map[string]any, dice *rand.Rand) any {
	object := map[string]any{}
	if inside, ok := schema["additionalProperties"].(map[string]any); ok {
		for i := range dice.IntN(4) {
			object[fmt.Sprintf("k%d", i)] = randomValue(inside, dice)
		}
		return object
	}
	properties := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if dice.IntN(5) != 0 {
			object[name] = randomValue(properties[name].(map[string]any), dice)
		}
	}
	if dice.IntN(6) == 0 {
		object["unknown"] = map[string]any{"deep": dice.IntN(3)}
	}
	return object
}
