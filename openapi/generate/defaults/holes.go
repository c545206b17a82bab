// Holes: what random leaves out of an object, and the few words that decide about defaults put in.

package main

import (
	"math/rand/v2"
	"slices"
	"strings"
)

const holes = 4 // one in: fields that are left out

// telling are the values on which other defaults depend, by the name of their field.
var telling = map[string][]any{
	"type":            {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "RollingUpdate", "OnDelete", "Recreate", "Container", "Pod"},
	"sessionAffinity": {"None", "ClientIP"},
	"kind":            {"User", "Group", "ServiceAccount"},
	"hostNetwork":     {true},
	"storage":         {true},
}

const digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

// Pieces of image references, right and wrong.
var (
	domains    = []string{"", "", "", "a/", "localhost/", "docker.io/", "index.docker.io/", "example.com/", "x:5000/", "x:/", "[::1]:80/", "[::1]/", "[]/", "X/", "a_b.c/", "-a.b/", "a..b/", "ä.b/"}
	components = []string{"app", "a/b", "a--b", "a__b", "a___b", "a.b_c", "a..b", "A", "a-", "-a", "", "a//b", "ü", digest, strings.Repeat("a", 248), strings.Repeat("a/", 127) + "a", strings.Repeat("a/", 128) + "a"}
	tags       = []string{"", "", ":latest", ":latest", ":LATEST", ":v1", ":_", ":.a", ":", ":a:b", ":" + strings.Repeat("a", 128), ":" + strings.Repeat("a", 129)}
	digests    = []string{"", "", "", "@sha256:" + digest, "@sha512:" + digest + digest, "@sha384:" + digest, "@sha256:abc", "@md5:" + digest[:32], "@", "@SHA256:" + digest}
)

func image(random *rand.Rand) (text string) {
	for _, pieces := range [][]string{domains, components, tags, digests} {
		text += pieces[random.IntN(len(pieces))]
	}
	return text
}

// foreign are the fields that decoding turns into others, which is no matter of defaults: text becomes data, and the
// measured load becomes an annotation.
var foreign = []string{"stringData", "currentCPUUtilizationPercentage"}

// pierce makes holes into an object; its kind and version stay.
func pierce(random *rand.Rand, object map[string]any, root bool) {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if root && (name == "apiVersion" || name == "kind") {
			continue
		}
		if random.IntN(holes) == 0 || slices.Contains(foreign, name) {
			delete(object, name)
			continue
		}
		_, plain := object[name].(string)
		if plain && (name == "image" || name == "reference") {
			object[name] = image(random)
			continue
		}
		if words := telling[name]; words != nil && plain && random.IntN(2) == 0 {
			object[name] = words[random.IntN(len(words))]
			continue
		}
		pierceValue(random, object[name])
		if isEmpty(object[name]) {
			delete(object, name)
		}
	}
}

// isEmpty finds what is left of a list or map of which nothing is left: the server sees none there.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

func pierceValue(random *rand.Rand, value any) {
	switch value := value.(type) {
	case map[string]any:
		pierce(random, value, false)
	case []any:
		for _, item := range value {
			pierceValue(random, item)
		}
	}
}
