// Writes what Kubernetes makes of scripts of applies and updates: for each step the object that results with its owners,
// or the words of the refusal. The scripts are drawn at random from the objects beside this file, always the same ones
// for the same seed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

// The moment of the first step; each later one is a second younger. Long ago, so that whatever has just been stamped
// can be told from it.
var epoch = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

type step struct {
	Op          string      `json:"op"`
	Manager     string      `json:"manager"`
	Subresource string      `json:"subresource,omitempty"`
	Force       bool        `json:"force,omitempty"`
	Object      any         `json:"object"`
	Result      any         `json:"result,omitempty"`
	Message     string      `json:"message,omitempty"`
	Causes      [][2]string `json:"causes,omitempty"`
}

// An empty list of owners is the exception: it says that they are to be forgotten.
func (s *step) resets() bool {
	metadata := s.Object.(map[string]any)["metadata"].(map[string]any)
	owners, ok := metadata["managedFields"].([]any)
	return ok && len(owners) == 0
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func managers(gvk schema.GroupVersionKind) map[string]*managedfields.FieldManager {
	types := applyconfigurations.NewTypeConverter(scheme.Scheme)
	reset := func(path ...any) map[fieldpath.APIVersion]fieldpath.Filter {
		return fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{
			fieldpath.APIVersion(gvk.GroupVersion().String()): fieldpath.NewSet(fieldpath.MakePathOrDie(path...)),
		})
	}
	make := func(subresource string, reset map[fieldpath.APIVersion]fieldpath.Filter) *managedfields.FieldManager {
		return must(managedfields.NewDefaultFieldManager(
			types, scheme.Scheme, scheme.Scheme, scheme.Scheme, gvk, gvk.GroupVersion(), subresource, reset))
	}
	return map[string]*managedfields.FieldManager{"": make("", reset("status")), "status": make("status", reset("spec"))}
}

// Sets the clock back for whatever was stamped just now.
func restamp(object runtime.Object, now time.Time) {
	accessor := must(meta.Accessor(object))
	entries := accessor.GetManagedFields()
	for i := range entries {
		if entries[i].Time != nil && entries[i].Time.Year() > 2020 {
			entries[i].Time = &metav1.Time{Time: now}
		}
	}
	accessor.SetManagedFields(entries)
}

func tree(object any) any {
	var out any
	if err := json.Unmarshal(must(json.Marshal(object)), &out); err != nil {
		panic(err)
	}
	return out
}

func typed(gvk schema.GroupVersionKind, from any) runtime.Object {
	object := must(scheme.Scheme.New(gvk))
	if err := json.Unmarshal(must(json.Marshal(from)), object); err != nil {
		panic(fmt.Errorf("%v: %w", gvk, err))
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	return object
}

// Go tells several errors of one object in any order.
func inOrder(message string) string {
	first, rest, many := strings.Cut(message, "errors:\n")
	if !many {
		return message
	}
	lines := strings.Split(rest, "\n")
	sort.Strings(lines)
	return first + "errors:\n" + strings.Join(lines, "\n")
}

// Runs one step, and returns what is stored after it.
func run(of map[string]*managedfields.FieldManager, gvk schema.GroupVersionKind, live runtime.Object, s *step, now time.Time) runtime.Object {
	manager := of[s.Subresource]
	var result runtime.Object
	var err error
	if s.Op == "apply" {
		config := &unstructured.Unstructured{Object: tree(s.Object).(map[string]any)}
		result, err = manager.Apply(live.DeepCopyObject(), config, s.Manager, s.Force)
	} else {
		// Empty lists inside of what is owned as one piece count in memory, and are lost when they are stored.
		next := typed(gvk, tree(typed(gvk, s.Object)))
		if s.resets() {
			must(meta.Accessor(next)).SetManagedFields([]metav1.ManagedFieldsEntry{})
		}
		result, err = manager.Update(live.DeepCopyObject(), next, s.Manager)
	}
	if err != nil {
		s.Message = inOrder(err.Error())
		if status, ok := err.(errors.APIStatus); ok && status.Status().Details != nil {
			for _, cause := range status.Status().Details.Causes {
				s.Causes = append(s.Causes, [2]string{cause.Field, cause.Message})
			}
			sort.Slice(s.Causes, func(i, j int) bool {
				a, b := s.Causes[i], s.Causes[j]
				return a[1]+a[0] < b[1]+b[0]
			})
		}
		return live
	}
	restamp(result, now)
	result.GetObjectKind().SetGroupVersionKind(gvk)
	s.Result = tree(result)
	return result
}

func script(random *rand.Rand, template map[string]any, length int) (string, []step) {
	gvk := schema.FromAPIVersionAndKind(template["apiVersion"].(string), template["kind"].(string))
	of := managers(gvk)
	live := must(scheme.Scheme.New(gvk))
	live.GetObjectKind().SetGroupVersionKind(gvk)
	steps := make([]step, 0, length)
	draw := &drawer{Rand: random}
	crowd := 3
	if random.Intn(8) == 0 {
		crowd = 16
	}
	for i := range length {
		s := step{Op: "apply", Manager: fmt.Sprintf("m%d", random.Intn(crowd))}
		created := must(meta.Accessor(live)).GetUID() != ""
		if random.Intn(5) == 0 {
			s.Manager = "kubectl"
		}
		if created && random.Intn(5) == 0 {
			s.Subresource = "status"
		}
		switch random.Intn(8) {
		case 0, 1, 2:
			s.Op = "update"
			from := template
			if created && random.Intn(3) > 0 {
				from = tree(live).(map[string]any)
			}
			s.Object = draw.update(from, template, created)
		case 3:
			s.Force = true
			s.Object = draw.config(template)
		default:
			s.Object = draw.config(template)
		}
		live = run(of, gvk, live, &s, epoch.Add(time.Duration(i)*time.Second))
		// Whoever stores an object gives it an identity.
		accessor := must(meta.Accessor(live))
		if accessor.GetUID() == "" && s.Message == "" {
			accessor.SetUID("u")
		}
		if s.Result != nil {
			s.Result = tree(live)
			// What was stored is read again, and empty lists do not survive that.
			live = typed(gvk, s.Result)
		}
		steps = append(steps, s)
	}
	return template["apiVersion"].(string) + " " + template["kind"].(string), steps
}

func main() {
	out := flag.String("out", "../../tests/go/applies.txt", "where to write")
	scripts := flag.Int("scripts", 2, "how many of each kind")
	length := flag.Int("length", 10, "how many steps each")
	seed := flag.Int64("seed", 1, "of the draw")
	flag.Parse()
	file := must(os.Create(*out))
	defer file.Close()
	writer := bufio.NewWriter(file)
	defer writer.Flush()
	names := must(filepath.Glob("objects/*.yaml"))
	sort.Strings(names)
	random := rand.New(rand.NewSource(*seed))
	for _, name := range names {
		for _, text := range strings.Split(string(must(os.ReadFile(name))), "\n---\n") {
			var template map[string]any
			if err := yaml.Unmarshal([]byte(text), &template); err != nil {
				panic(err)
			}
			for range *scripts {
				kind, steps := script(random, template, *length)
				fmt.Fprintf(writer, "%s\t%s\n", kind, must(json.Marshal(steps)))
			}
		}
	}
}
