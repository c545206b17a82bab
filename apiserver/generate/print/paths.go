package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// found is what a path leads to in each of the objects, or why it cannot be read.
type found struct {
	Path  string  `json:"path"`
	Error string  `json:"error,omitempty"`
	Found [][]any `json:"found,omitempty"`
	// AnyOrder: Go goes through maps in another order every time.
	AnyOrder bool `json:"anyOrder,omitempty"`
}

const (
	damagedPaths = 1500
	// A path that leads through a map is followed so often to see whether the order matters.
	tries = 40
)

// writePaths writes what the paths of custom/paths.txt lead to, and then damaged ones.
func writePaths(path string) {
	var lines strings.Builder
	objects := customObjects(fixedNow)
	writeLine(&lines, map[string]any{"objects": objects})
	paths := strings.Split(strings.TrimSuffix(string(must1(os.ReadFile("custom/paths.txt"))), "\n"), "\n")
	for _, path := range append(paths, damaged(paths)...) {
		if line, exact := follow(path, objects); exact {
			writeLine(&lines, line)
		}
	}
	must(os.WriteFile(path, []byte(lines.String()), 0o644))
}

// damaged puts parts of paths in the place of parts of other paths: always the same ones.
func damaged(paths []string) []string {
	dice := rand.New(rand.NewPCG(1, 2))
	part := func() string {
		path := []rune(paths[dice.IntN(len(paths))])
		from := dice.IntN(len(path))
		return string(path[from:min(len(path), from+1+dice.IntN(6))])
	}
	var all []string
	for len(all) < damagedPaths {
		path := []rune(paths[dice.IntN(len(paths))])
		from := dice.IntN(len(path))
		to := min(len(path), from+dice.IntN(4))
		changed := string(path[:from]) + part() + string(path[to:])
		if !slices.Contains(all, changed) && !slices.Contains(paths, changed) {
			all = append(all, changed)
		}
	}
	return all
}

// follow is not exact where Go finds the bytes of a text, or something else every time.
func follow(path string, objects []map[string]any) (found, bool) {
	line := found{Path: path}
	if err := jsonpath.New("").Parse("{" + path + "}"); err != nil {
		line.Error = err.Error()
		return line, true
	}
	for _, object := range objects {
		first, exact := followOnce(path, object)
		for range tries {
			again, _ := followOnce(path, object)
			if text(again) != text(first) {
				line.AnyOrder = true
			}
			if text(sorted(again)) != text(sorted(first)) {
				exact = false
			}
		}
		if !exact {
			return line, false
		}
		line.Found = append(line.Found, first)
	}
	if line.AnyOrder {
		for at := range line.Found {
			line.Found[at] = sorted(line.Found[at])
		}
	}
	return line, true
}

func followOnce(path string, object map[string]any) ([]any, bool) {
	parsed := jsonpath.New("").AllowMissingKeys(true)
	must(parsed.Parse("{" + path + "}"))
	values := []any{}
	results, err := parsed.FindResults(object)
	if err != nil || len(results) == 0 {
		return values, true
	}
	exact := true
	for _, result := range results[0] {
		value := reflect.ValueOf(result.Interface())
		exact = exact && value.Kind() != reflect.Uint8
		values = append(values, result.Interface())
	}
	return values, exact
}

func sorted(values []any) []any {
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return values
}

func text(value any) string {
	return string(must1(json.Marshal(value)))
}
