// The resources of discovery: resources.txt, checked against the client markers of the Go types.

package main

import (
	_ "embed"
	"strings"
)

//go:embed resources.txt
var resourcesText string

const allVerbs = "create,delete,deletecollection,get,list,patch,update,watch"

// resource is one line of resources.txt.
type resource struct {
	plural, kind string
	namespaced   bool
	verbs        string
	short        []string
	categories   []string
	subs         []subresource
}

// subresource answers with kind, an "apiVersion.Kind", or with its parent's kind when that is empty.
type subresource struct{ name, verbs, kind string }

// readResources returns the lines of resources.txt by group version.
func readResources() map[string][]resource {
	all, at := map[string][]resource{}, ""
	for line := range strings.Lines(resourcesText) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
		case len(words) == 1:
			at = words[0]
		default:
			all[at] = append(all[at], readResource(words))
		}
	}
	return all
}

func readResource(words []string) resource {
	r := resource{plural: words[0], kind: words[1], namespaced: words[2] == "namespaced", verbs: allVerbs}
	if !r.namespaced && words[2] != "cluster" {
		fail("%s: no such scope as %q", r.plural, words[2])
	}
	for _, word := range words[3:] {
		if verbs, ok := strings.CutPrefix(word, "verbs="); ok {
			r.verbs = verbs
		} else if category, ok := strings.CutPrefix(word, "+"); ok {
			r.categories = append(r.categories, category)
		} else if sub, ok := strings.CutPrefix(word, "/"); ok {
			r.subs = append(r.subs, readSubresource(sub))
		} else {
			r.short = append(r.short, word)
		}
	}
	return r
}

func readSubresource(word string) subresource {
	parts := append(strings.Split(word, ":"), "", "")
	s := subresource{parts[0], parts[1], parts[2]}
	switch s.name {
	case "status":
		s.verbs = "get,patch,update"
	case "scale":
		s.verbs, s.kind = "get,patch,update", "autoscaling/v1.Scale"
	}
	return s
}

// checkResource compares a line with the markers that client generators read.
func checkResource(r resource, marks markers) {
	if !marks.has("genclient") && r.kind != "Binding" {
		fail("%s: %s has no client", r.plural, r.kind)
	}
	if marks.has("genclient:nonNamespaced") == r.namespaced {
		fail("%s: the scope is wrong", r.plural)
	}
	if only := marks.first("genclient:onlyVerbs"); only != "" && only != r.verbs {
		fail("%s: verbs are %s, not %s", r.plural, only, r.verbs)
	}
}
