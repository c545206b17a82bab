package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestAStoryIsRead(t *testing.T) {
	told, err := parseStory("t", `# a comment
let maps = /maps
apart

POST ${maps} -> 201
Accept: x/y
keep rv = metadata.resourceVersion
{a: "${rv}", b: [1]}

WATCH ${maps}?x=1
events 2

APPLY ${maps}/one
until 404
|raw: {
|more
`)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "steps", len(told.steps), 3)
	equal(t, "apart", told.apart, true)
	post, watch, apply := told.steps[0], told.steps[1], told.steps[2]
	equal(t, "path", post.path, "/maps")
	equal(t, "want", post.want, 201)
	equal(t, "body", post.body, `{"a":"${rv}","b":[1]}`)
	equal(t, "kept", post.keep["rv"], "metadata.resourceVersion")
	equal(t, "header", post.header["Accept"], "x/y")
	equal(t, "events", watch.events, 2)
	equal(t, "until", apply.until, 404)
	equal(t, "raw", apply.body, "raw: {\nmore")
	method, header := apply.wire()
	equal(t, "method", method+" "+header["Content-Type"], "PATCH application/apply-patch+yaml")
	if _, err := parseStory("t", "nonsense"); err == nil {
		t.Error("nonsense was read")
	}
}

func TestEveryStoryAndTemplateCanBeRead(t *testing.T) {
	topics, err := readStories("stories")
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]seeds
	if err := readTemplate("templates", "seeds.yaml", &kept); err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"apply-random": 300, "strategic-random": 200, "crd-random": 120} {
		if kept[name].Cases < least {
			t.Errorf("%s has %d cases", name, kept[name].Cases)
		}
	}
	for _, make := range []func(string, seeds) (topic, error){applies, strategics} {
		made, err := make("templates", kept["apply-random"])
		if err != nil {
			t.Fatal(err)
		}
		topics = append(topics, made)
	}
	for _, topic := range append(topics, schemas(kept["crd-random"])) {
		if len(topic.steps) < 10 {
			t.Errorf("%s has %d steps", topic.name, len(topic.steps))
		}
	}
	if _, err := readChosen("differences.yaml"); err != nil {
		t.Error(err)
	}
}

func TestTheSameSeedMakesTheSameCases(t *testing.T) {
	tell := func() string { return fmt.Sprint(schemas(seeds{Seed: 7, Cases: 20}).steps) }
	equal(t, "told twice", tell() == tell(), true)
	dice := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		template := map[string]any{"a": 1, "b~": 2, "c": map[string]any{"one of": []any{"x", "z"}}}
		picked := pick(template, dice).(map[string]any)
		if picked["a"] != 1 || (picked["c"] != "x" && picked["c"] != "z") {
			t.Fatalf("picked %v", picked)
		}
	}
}

func normal(t *testing.T, body string) answer {
	t.Helper()
	return remember().answer(answer{status: 200, body: tree([]byte(body), "application/json")})
}

func TestWhatServersChooseIsNotCompared(t *testing.T) {
	object := func(uid byte, version string, more string) answer {
		id := strings.Replace("11111111-1111-1111-1111-111111111111", "1", string(uid), 1)
		return normal(t, fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q}%s}`, id, version, more))
	}
	pairs := noPairs()
	same := func(what string, one, other answer, want int) {
		t.Helper()
		if found := pairs.compare(one, other); len(found) != want {
			t.Errorf("%s: %v", what, found)
		}
	}
	same("the first", object('2', "5", ""), object('3', "900", ""), 0)
	same("again", object('2', "5", ""), object('3', "900", ""), 0)
	same("changed at both", object('2', "6", ""), object('3', "901", ""), 0)
	same("changed at one", object('2', "6", ""), object('3', "902", ""), 1)
	same("another value", object('2', "8", `,"a":1`), object('3', "904", `,"a":2`), 1)
	same("a value of one", object('2', "9", `,"a":1`), object('3', "905", ""), 1)
	same("another object at one", object('4', "10", ""), object('3', "906", ""), 1)
	same("an address", normal(t, `{"clusterIP":"10.0.0.7"}`), normal(t, `{"clusterIP":"10.0.9.1"}`), 0)
	roles := `{"kind":"ClusterRoleList","items":[{"metadata":{"name":"%s"}},{"metadata":{"name":"view"}}]}`
	same("a role of workspaces", normal(t, fmt.Sprintf(roles, "system:kcp:admin")), normal(t, `{"kind":"ClusterRoleList","items":[{"metadata":{"name":"view"}}]}`), 0)
	same("a role of its own", normal(t, fmt.Sprintf(roles, "mine")), normal(t, `{"kind":"ClusterRoleList","items":[{"metadata":{"name":"view"}}]}`), 2)
	same("an old time", normal(t, `{"t":"2001-01-01T00:00:00Z"}`), normal(t, `{"t":"2001-01-01T00:00:01Z"}`), 1)
}

func TestOnlyWhatMatchesIsChosen(t *testing.T) {
	all, err := readChosen("differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	report := report{meant: all}
	meant := func(at, kube, hanse string) bool {
		return report.find("lists", "GET /x", difference{at, kube, hanse}) != nil
	}
	equal(t, "kinds of items", meant("body.items[3].kind", nothing, `"ConfigMap"`), true)
	equal(t, "their names", meant("body.items[3].metadata.name", nothing, `"a"`), false)
	equal(t, "a status", meant("status", "200", "500"), false)
	var counted map[string]any
	if err := json.Unmarshal([]byte(`{"a":[{"b":"c"}]}`), &counted); err != nil {
		t.Fatal(err)
	}
	equal(t, "a part", part(counted, "a[0].b"), "c")
}
