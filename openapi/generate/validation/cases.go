package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A file of cases:
//
//	kind apps/v1 Deployment
//	base {...}
//	create spec.replicas=-1 -spec.template metadata.labels[a/b]="c" spec.containers[+]={}
//	update <edits of the old object> => <edits that make the new one of it>
//	status <edits of the old object> => <edits that make the new one of it>
//
// @300 stands for a text of 300 letters.
func replay(text string, out io.Writer) error {
	var kind *Kind
	for number, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var err error
		var vector any
		switch {
		case word == "" || word[0] == '#':
			continue
		case word == "kind":
			kind, err = find(strings.Fields(rest))
		case word == "base":
			vector, err = kind.setBase([]byte(rest))
		case word == "create":
			vector, err = kind.create(rest)
		case word == "update" || word == "status":
			vector, err = kind.update(word, rest)
		default:
			err = fmt.Errorf("unknown word %q", word)
		}
		if err != nil {
			return fmt.Errorf("%d: %s: %w", number+1, line, err)
		}
		if vector != nil {
			encoder := json.NewEncoder(out)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(vector); err != nil {
				return err
			}
		}
	}
	return nil
}

// The edits of one line, applied to a copy of the object.
func edit(object any, edits string) (any, error) {
	object = clone(object)
	edits = strings.TrimSpace(edits)
	for edits != "" {
		end := strings.IndexAny(edits, "= ")
		if edits[0] == '-' {
			if end < 0 {
				end = len(edits)
			}
			object = set(object, steps(edits[1:end]), nil, true)
			edits = strings.TrimSpace(edits[end:])
			continue
		}
		if end < 0 || edits[end] != '=' {
			return nil, fmt.Errorf("no value: %s", edits)
		}
		value, rest, err := value(edits[end+1:])
		if err != nil {
			return nil, err
		}
		object = set(object, steps(edits[:end]), value, false)
		edits = strings.TrimSpace(rest)
	}
	return object, nil
}

func value(text string) (any, string, error) {
	if text[0] == '@' {
		var length int
		count, rest, _ := strings.Cut(text[1:], " ")
		if _, err := fmt.Sscan(count, &length); err != nil {
			return nil, "", err
		}
		return strings.Repeat("x", length), rest, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, "", fmt.Errorf("%s: %w", text, err)
	}
	return value, text[decoder.InputOffset():], nil
}

// a.b[c.d][0] -> a, b, c.d, 0
func steps(path string) []string {
	var steps []string
	for path != "" {
		if path[0] == '[' {
			end := strings.IndexByte(path, ']')
			steps = append(steps, path[1:end])
			path = path[end+1:]
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		steps = append(steps, path[:end])
		path = path[end:]
	}
	return steps
}

func set(at any, steps []string, value any, remove bool) any {
	if len(steps) == 0 {
		return value
	}
	step := steps[0]
	if list, ok := at.([]any); ok {
		var index int
		if step == "+" {
			return append(list, set(nil, steps[1:], value, remove))
		}
		if _, err := fmt.Sscan(step, &index); err != nil || index >= len(list) {
			panic("no such item: " + step)
		}
		if remove && len(steps) == 1 {
			return append(list[:index:index], list[index+1:]...)
		}
		list[index] = set(list[index], steps[1:], value, remove)
		return list
	}
	if at == nil && (step == "0" || step == "+") {
		return []any{set(nil, steps[1:], value, remove)}
	}
	fields, ok := at.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	if remove && len(steps) == 1 {
		delete(fields, step)
	} else {
		fields[step] = set(fields[step], steps[1:], value, remove)
	}
	return fields
}

func clone(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return parse(text)
}

func parse(text []byte) any {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return value
}

// The JSON merge patch that makes `to` of `from`.
func difference(from, to any) any {
	before, isMap := from.(map[string]any)
	after, ok := to.(map[string]any)
	if !isMap || !ok {
		return to
	}
	patch := map[string]any{}
	for name := range before {
		if _, ok := after[name]; !ok {
			patch[name] = nil
		}
	}
	for name, value := range after {
		if old, ok := before[name]; !ok {
			patch[name] = value
		} else if !same(old, value) {
			patch[name] = difference(old, value)
		}
	}
	return patch
}

func same(a, b any) bool {
	left, _ := json.Marshal(a)
	right, _ := json.Marshal(b)
	return string(left) == string(right)
}

// Texts of many equal letters as cases write them: @300.
func shortened(value any) any {
	switch value := value.(type) {
	case string:
		if len(value) > 1000 && strings.Trim(value, "x") == "" {
			return fmt.Sprintf("@%d", len(value))
		}
	case map[string]any:
		for name := range value {
			value[name] = shortened(value[name])
		}
	}
	return value
}
