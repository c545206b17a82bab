package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// nothing stands where only the other server has something.
const nothing = "<nothing>"

// difference is one place where two answers are not the same.
type difference struct {
	at          string
	kube, hanse string
}

func (d difference) String() string {
	return fmt.Sprintf("%s\n      kube:  %s\n      hanse: %s", d.at, d.kube, d.hanse)
}

// pairs are the uids and versions of one server with those of the other one that stood in the same place: what was the
// same thing once has to be it again.
type pairs struct{ kube, hanse map[string]string }

func noPairs() pairs { return pairs{map[string]string{}, map[string]string{}} }

var chosenByServer = regexp.MustCompile(`<(uid|version) [^>]*>`)

// alike says whether two texts are the same but for uids and versions that belong together.
func (p pairs) alike(kube, hanse string) bool {
	if kube == hanse {
		return true
	}
	hidden := func(text string) string { return chosenByServer.ReplaceAllString(text, "<$1>") }
	if hidden(kube) != hidden(hanse) {
		return false
	}
	alike := true
	others := chosenByServer.FindAllString(hanse, -1)
	for i, one := range chosenByServer.FindAllString(kube, -1) {
		alike = p.match(one, others[i]) && alike
	}
	return alike
}

// match says whether the two do not contradict what was seen before; from then on they belong together.
func (p pairs) match(one, other string) bool {
	known, isKnown := p.kube[one]
	back, isBack := p.hanse[other]
	p.kube[one], p.hanse[other] = other, one
	return (!isKnown || known == other) && (!isBack || back == one)
}

// compare lists every place where two answers differ.
func (p pairs) compare(kube, hanse answer) []difference {
	var found []difference
	if kube.status != hanse.status {
		found = append(found, difference{"status", strconv.Itoa(kube.status), strconv.Itoa(hanse.status)})
	}
	for _, name := range union(kube.headers, hanse.headers) {
		one, other := header(kube, name), header(hanse, name)
		if !p.alike(one, other) {
			found = append(found, difference{"header." + name, one, other})
		}
	}
	return append(found, p.diff("body", kube.body, hanse.body)...)
}

func header(told answer, name string) string {
	if value, ok := told.headers[name]; ok {
		return value
	}
	return nothing
}

func (p pairs) diff(at string, kube, hanse any) []difference {
	switch one := kube.(type) {
	case map[string]any:
		if other, ok := hanse.(map[string]any); ok {
			return p.diffObjects(at, one, other)
		}
	case []any:
		if other, ok := hanse.([]any); ok {
			return p.diffLists(at, one, other)
		}
	case string:
		if other, ok := hanse.(string); ok && p.alike(one, other) {
			return nil
		}
	default:
		if kube == hanse {
			return nil
		}
	}
	return []difference{{at, show(kube), show(hanse)}}
}

func (p pairs) diffObjects(at string, kube, hanse map[string]any) []difference {
	var found []difference
	for _, key := range union(kube, hanse) {
		one, inKube := kube[key]
		other, inHanse := hanse[key]
		below := at + "." + key
		switch {
		case !inKube:
			found = append(found, difference{below, nothing, show(other)})
		case !inHanse:
			found = append(found, difference{below, show(one), nothing})
		default:
			found = append(found, p.diff(below, one, other)...)
		}
	}
	return found
}

func (p pairs) diffLists(at string, kube, hanse []any) []difference {
	var found []difference
	for i := range max(len(kube), len(hanse)) {
		below := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case i >= len(kube):
			found = append(found, difference{below, nothing, show(hanse[i])})
		case i >= len(hanse):
			found = append(found, difference{below, show(kube[i]), nothing})
		default:
			found = append(found, p.diff(below, kube[i], hanse[i])...)
		}
	}
	return found
}

func union[V any](one, other map[string]V) []string {
	both := maps.Clone(one)
	if both == nil {
		both = map[string]V{}
	}
	maps.Copy(both, other)
	return slices.Sorted(maps.Keys(both))
}

func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

var pathPart = regexp.MustCompile(`[^.\[\]]+`)

// part finds what a path such as metadata.ownerReferences[0].uid names.
func part(value any, path string) string {
	for _, name := range pathPart.FindAllString(path, -1) {
		switch inside := value.(type) {
		case map[string]any:
			value = inside[name]
		case []any:
			at, err := strconv.Atoi(name)
			if err != nil || at >= len(inside) {
				return ""
			}
			value = inside[at]
		default:
			return ""
		}
	}
	if text, ok := value.(string); ok {
		return text
	}
	if value == nil {
		return ""
	}
	return show(value)
}
