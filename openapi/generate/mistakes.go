// Objects with mistakes in them, what a strict Go decoder says of each, and how it prints what it understood.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// slot is a place in a JSON tree that can be changed.
type slot struct {
	in  any // map[string]any or []any
	key string
	at  int
}

func (s slot) set(value any) {
	switch in := s.in.(type) {
	case map[string]any:
		in[s.key] = value
	case []any:
		in[s.at] = value
	}
}

// slots lists every place below value, in a fixed order.
func slots(value any) []slot {
	var all []slot
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			all = append(append(all, slot{in: value, key: key}), slots(value[key])...)
		}
	case []any:
		for i, inner := range value {
			all = append(append(all, slot{in: value, at: i}), slots(inner)...)
		}
	}
	return all
}

var oddValues = []string{`"text"`, `""`, `12`, `1.5`, `3000000000`, `-1e+30`, `true`, `[]`, `["a"]`, `[{}]`, `{}`, `{"a":"b"}`, `{"a":{}}`,
	`"2024-02-30T00:00:00Z"`, `"2024-01-02T03:04:05.123456+01:00"`, `"2024-01-02T03:04:05Z"`, `"1000m"`, `"1.2.3"`, `"5Q"`, `"YWJj"`, `"YWJ"`}

// spoil makes a mistake or two: values of the wrong type, nulls, unknown fields.
func (f *filler) spoil(tree map[string]any) {
	places := slices.DeleteFunc(slots(tree), func(s slot) bool { return s.key == "kind" || s.key == "apiVersion" })
	if len(places) == 0 {
		return
	}
	if f.oneIn(2) {
		var value any
		decoder := json.NewDecoder(strings.NewReader(pick(f, oddValues...)))
		decoder.UseNumber()
		must(decoder.Decode(&value))
		pick(f, places...).set(value)
	} else if f.oneIn(2) {
		pick(f, places...).set(nil)
	}
	for _, place := range slots(tree) {
		if in, ok := place.in.(map[string]any); ok && f.oneIn(max(len(places)/2, 2)) {
			in["bogus"] = json.Number("1")
		}
	}
}

// understood is what the strict decoder returns, once the error is put aside.
func (c codecs) understood(text []byte) (string, string) {
	object, _, err := c.strict.Decode(text, nil, nil)
	if err == nil {
		return "", string(toJSON(object))
	}
	if runtime.IsStrictDecodingError(err) {
		return err.Error(), string(toJSON(object))
	}
	return err.Error(), ""
}

// writeMistakes prints: the spoiled JSON, the decoder's words (empty: none), and its reading (empty: it gave up).
func writeMistakes(out io.Writer, seed uint64, each int) {
	c := newCodecs()
	f := &filler{random: rand.New(rand.NewPCG(seed, 1)), covered: map[string]bool{}}
	kinds := slices.DeleteFunc(c.kinds(), func(k schema.GroupVersionKind) bool { return strings.HasSuffix(k.Kind, "List") })
	for _, kind := range kinds {
		for i := range max(each, 3) {
			if i%3 == 0 && each > 0 {
				f.covered = map[string]bool{}
			}
			text := toJSON(c.fromProto(c.toProto(c.filled(kind, f))))
			var tree map[string]any
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.UseNumber()
			must(decoder.Decode(&tree))
			f.spoil(tree)
			spoiled, err := json.Marshal(tree)
			must(err)
			words, reading := c.understood(spoiled)
			fmt.Fprintf(out, "%s\t%s\t%s\n", spoiled, strings.ReplaceAll(words, "\n", " "), reading)
		}
	}
}
