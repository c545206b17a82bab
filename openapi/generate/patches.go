// Objects, patches of all three kinds, and what an API server's Go packages make of them.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// tries is how often each patch is applied: Go walks maps in random order, and an outcome that depends on it is no example.
const tries = 150

// writePatches prints: "json", "merge" or apiVersion and kind, the object, the patch, and the result or "!", the status code and the error.
func writePatches(out io.Writer, seed uint64, count int) {
	scheme := newScheme()
	jsonpatch.AccumulatedCopySizeLimit = 3 << 20
	for _, one := range writtenStrategic {
		writePatch(out, one[0], one[1], one[2], strategic(scheme, one[0]))
	}
	for _, one := range writtenJSON {
		writePatch(out, "json", one[0], one[1], patchJSON)
	}
	for _, one := range writtenMerge {
		writePatch(out, "merge", one[0], one[1], jsonpatch.MergePatch)
	}
	f := &filler{random: rand.New(rand.NewPCG(seed, 5))}
	for range max(count, 220) {
		kind, s := f.shaped()
		writePatch(out, kind, inJSON(f.original(s)), inJSON(f.change(s)), strategic(scheme, kind))
	}
	for range max(count, 150) {
		writePatch(out, "json", inJSON(f.tree(3, false)), inJSON(f.operations()), patchJSON)
		writePatch(out, "merge", inJSON(f.tree(3, false)), inJSON(f.tree(3, true)), jsonpatch.MergePatch)
	}
}

type patching func(object, patch []byte) ([]byte, error)

// coded is an error with the status code that it becomes.
type coded struct {
	code int
	error
}

func writePatch(out io.Writer, what, object, patch string, apply patching) {
	first := outcome(apply, object, patch)
	for range tries {
		if outcome(apply, object, patch) != first {
			return
		}
	}
	if first != "" {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", what, object, patch, first)
	}
}

// outcome is empty for what is no example: a panic, or a field that is not the kind's.
func outcome(apply patching, object, patch string) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	result, err := apply([]byte(object), []byte(patch))
	if err == nil {
		return string(result)
	}
	for _, words := range []string{"unable to find api field", "data type is not struct", "expected slice or array type"} {
		if strings.Contains(err.Error(), words) {
			return ""
		}
	}
	code := 422
	if with := (coded{}); errors.As(err, &with) {
		code = with.code
	}
	return fmt.Sprintf("!%d %s", code, inJSON(err.Error()))
}

func strategic(scheme *runtime.Scheme, kind string) patching {
	words := strings.Split(kind, " ")
	gv, err := schema.ParseGroupVersion(words[0])
	must(err)
	typed, err := scheme.New(gv.WithKind(words[1]))
	must(err)
	return func(object, patch []byte) ([]byte, error) {
		var original, changes map[string]any
		must(kjson.UnmarshalCaseSensitivePreserveInts(object, &original))
		must(kjson.UnmarshalCaseSensitivePreserveInts(patch, &changes))
		result, err := strategicpatch.StrategicMergeMapPatch(original, changes, typed)
		switch err {
		case nil:
			return json.Marshal(result)
		case mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList:
			return nil, coded{400, err}
		}
		return nil, err
	}
}

type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func patchJSON(object, patch []byte) ([]byte, error) {
	var operations []jsonPatchOp
	if _, err := kjson.UnmarshalStrict(patch, &operations); err != nil {
		text := strings.ReplaceAll(err.Error(), "main.jsonPatchOp", "handlers.jsonPatchOp")
		return nil, coded{400, fmt.Errorf("error decoding patch: %s", text)}
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, coded{400, err}
	}
	return decoded.Apply(object)
}

// shape is what may stand somewhere in the objects that patches are tried on.
type shape struct {
	fields map[string]*shape // an object
	item   *shape            // a list, of objects with a key or of scalars
	key    string
	values []any // a scalar
}

func one(values ...any) *shape  { return &shape{values: values} }
func list(values ...any) *shape { return &shape{item: one(values...)} }
func keyed(key string, fields map[string]*shape) *shape {
	return &shape{item: &shape{fields: fields}, key: key}
}
func object(fields map[string]*shape) *shape { return &shape{fields: fields} }

var (
	named   = one("a", "b", "c", "d")
	metaOf  = object(map[string]*shape{"name": named, "labels": object(map[string]*shape{"a": named, "b": named}), "finalizers": list("a", "b", "c", "d")})
	podSpec = object(map[string]*shape{
		"containers": keyed("name", map[string]*shape{
			"name": named, "image": named, "args": list("x", "y"),
			"env":   keyed("name", map[string]*shape{"name": named, "value": named}),
			"ports": keyed("containerPort", map[string]*shape{"containerPort": one(1, 2, 3), "protocol": named}),
		}),
		"volumes":      keyed("name", map[string]*shape{"name": named, "emptyDir": object(map[string]*shape{"medium": named}), "hostPath": object(map[string]*shape{"path": named})}),
		"tolerations":  keyed("key", map[string]*shape{"key": named}),
		"nodeSelector": object(map[string]*shape{"a": named, "b": named}),
		"hostNetwork":  one(true, false),
	})
	shapes = map[string]*shape{
		"v1 Pod":             object(map[string]*shape{"metadata": metaOf, "spec": podSpec}),
		"v1 Service":         object(map[string]*shape{"spec": object(map[string]*shape{"ports": keyed("port", map[string]*shape{"port": one(1, 2, 3, 4), "name": named}), "externalIPs": list("a", "b")})}),
		"v1 ServiceAccount":  object(map[string]*shape{"metadata": metaOf, "secrets": keyed("name", map[string]*shape{"name": named, "kind": named})}),
		"apps/v1 Deployment": object(map[string]*shape{"spec": object(map[string]*shape{"replicas": one(1, 2, 2.5), "strategy": object(map[string]*shape{"type": named, "rollingUpdate": object(map[string]*shape{"maxSurge": one(1, "2")})}), "template": object(map[string]*shape{"metadata": metaOf, "spec": podSpec})})}),
	}
)

func (f *filler) shaped() (string, *shape) {
	kind := pick(f, sortedNames(shapes)...)
	return kind, shapes[kind]
}

func (f *filler) original(s *shape) any {
	switch {
	case s.item != nil:
		return f.items(s, func() any { return f.original(s.item) })
	case s.fields != nil:
		result := map[string]any{}
		for _, name := range sortedNames(s.fields) {
			if f.random.IntN(4) > 0 {
				result[name] = f.original(s.fields[name])
			}
		}
		return result
	}
	return pick(f, s.values...)
}

// items are up to four values, no two alike in their key.
func (f *filler) items(s *shape, make func() any) []any {
	result, seen := []any{}, map[string]bool{}
	for range f.random.IntN(5) {
		item := make()
		key := item
		if object, ok := item.(map[string]any); ok && s.key != "" {
			if _, ok := object[s.key]; !ok && !f.oneIn(30) {
				object[s.key] = pick(f, s.item.fields[s.key].values...)
			}
			key = object[s.key]
		}
		if text := inJSON(key); !seen[text] {
			seen[text] = true
			result = append(result, item)
		}
	}
	return result
}

func (f *filler) change(s *shape) any {
	switch {
	case f.oneIn(60):
		return pick[any](f, "odd", 7, true, []any{"odd"}, []any{[]any{}}, map[string]any{"odd": 1})
	case s.item != nil:
		items := f.items(s, func() any { return f.change(s.item) })
		if s.item.fields != nil && f.oneIn(12) {
			items = append(items, map[string]any{"$patch": pick(f, "replace", "replace", "merge", "odd")})
		}
		return items
	case s.fields != nil:
		return f.changes(s)
	}
	return pick(f, s.values...)
}

func (f *filler) changes(s *shape) map[string]any {
	result := map[string]any{}
	for _, name := range sortedNames(s.fields) {
		inner := s.fields[name]
		switch {
		case f.oneIn(3):
			continue
		case f.oneIn(9):
			result[name] = nil
		default:
			result[name] = f.change(inner)
		}
		if inner.item != nil && f.oneIn(3) {
			result["$setElementOrder/"+name] = f.order(inner, result[name])
		}
		if inner.item != nil && inner.key == "" && f.oneIn(3) {
			delete(result, name)
			result["$deleteFromPrimitiveList/"+name] = f.original(inner)
		}
	}
	if f.oneIn(9) {
		result["$patch"] = pick[any](f, "delete", "delete", "delete", "replace", "replace", "merge", 1)
	}
	if f.oneIn(10) {
		keys := []any{}
		for _, name := range sortedNames(s.fields) {
			if _, ok := result[name]; ok && !f.oneIn(20) || f.oneIn(2) {
				keys = append(keys, name)
			}
		}
		result["$retainKeys"] = keys
	}
	return result
}

// order is mostly one that agrees with the items, among others.
func (f *filler) order(s *shape, items any) any {
	order, seen := []any{}, map[string]bool{}
	add := func(key any) {
		if seen[inJSON(key)] {
			return
		}
		seen[inJSON(key)] = true
		if s.key == "" {
			order = append(order, key)
		} else {
			order = append(order, map[string]any{s.key: key})
		}
	}
	values := s.item.values
	if s.key != "" {
		values = s.item.fields[s.key].values
	}
	known, _ := items.([]any)
	for _, item := range known {
		if object, ok := item.(map[string]any); ok && s.key != "" {
			item = object[s.key]
			if object["$patch"] == "delete" {
				continue
			}
		}
		if _, isList := item.([]any); isList {
			continue
		}
		for f.oneIn(3) {
			add(pick(f, values...))
		}
		add(item)
	}
	for f.oneIn(2) {
		add(pick(f, values...))
	}
	return order
}

func (f *filler) tree(depth int, nulls bool) any {
	if depth == 0 || depth < 3 && f.oneIn(3) {
		if nulls && f.oneIn(2) {
			return nil
		}
		return pick[any](f, 1, 2.5, "x", "", true, nil)
	}
	if depth < 3 && f.oneIn(3) {
		items := []any{}
		for range f.random.IntN(4) {
			items = append(items, f.tree(depth-1, nulls))
		}
		return items
	}
	result := map[string]any{}
	for range f.random.IntN(4) {
		result[pick(f, "a", "b", "c", "a/b", "~")] = f.tree(depth-1, nulls)
	}
	return result
}

func (f *filler) operations() []any {
	operations := []any{}
	for range 1 + f.random.IntN(3) {
		one := map[string]any{"op": pick(f, "add", "add", "remove", "replace", "move", "copy", "test"), "path": f.pointer()}
		if f.random.IntN(12) > 0 {
			one["from"] = f.pointer()
			one["value"] = f.tree(f.random.IntN(2), false)
		}
		operations = append(operations, one)
	}
	return operations
}

func (f *filler) pointer() string {
	text := ""
	for range pick(f, 1, 1, 1, 2, 2, 3, 0) {
		text += "/" + pick(f, "a", "a", "b", "b", "c", "0", "1", "-1", "-", "a~1b", "~0", "9")
	}
	return text
}

func sortedNames(fields map[string]*shape) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
