package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"sort"
	"strings"
)

// Draws objects that are like a given one.
type drawer struct {
	*rand.Rand
	// Whether one more thing may be wrong with the object: Go tells two in any order.
	mayErr bool
}

// Fields that tell items of lists apart, and others that an object is nothing without.
var kept = map[string]bool{
	"name": true, "containerPort": true, "port": true, "type": true, "uid": true, "ip": true, "key": true,
	"mountPath": true, "devicePath": true, "topologyKey": true, "whenUnsatisfiable": true, "apiVersion": true, "kind": true,
	"metadata": true, "conditionType": true,
}

// Texts that only look like texts.
func isFree(text string) bool {
	return !strings.ContainsAny(text, ":%/=") && (text == "" || text[0] > '9')
}

func sorted(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// Some of the fields and items of a tree, some of them changed.
func (d *drawer) part(value any, keep, change float64) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range sorted(value) {
			if kept[key] && !isMap(value[key]) || d.Float64() < keep {
				out[key] = d.part(value[key], keep, change)
				if kept[key] && key != "type" {
					out[key] = value[key]
				}
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range value {
			if d.Float64() < keep {
				out = append(out, d.part(item, keep, change))
			}
		}
		if d.Intn(4) == 0 {
			d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		if d.mayErr && len(out) > 0 && d.Intn(30) == 0 {
			d.mayErr = false
			out = append(out, out[0])
		}
		return out
	case string:
		if isFree(value) && d.Float64() < change {
			return fmt.Sprintf("%s%d", value, d.Intn(2))
		}
	case float64:
		if d.Float64() < change {
			return value + float64(1+d.Intn(2))
		}
	case bool:
		if d.Float64() < change {
			return !value
		}
	}
	return value
}

func isMap(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

func (d *drawer) metadata(template map[string]any, keep, change float64) map[string]any {
	out := d.part(template["metadata"], keep, change).(map[string]any)
	for _, key := range []string{"uid", "managedFields"} {
		delete(out, key)
	}
	out["name"] = "x"
	return out
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// What somebody applies: little of the object, or much.
func (d *drawer) config(template map[string]any) map[string]any {
	keep := []float64{0.3, 0.6, 0.9}[d.Intn(3)]
	d.mayErr = true
	out := d.part(template, keep, 0.15).(map[string]any)
	out["apiVersion"], out["kind"] = template["apiVersion"], template["kind"]
	out["metadata"] = d.metadata(template, keep, 0.15)
	switch d.Intn(40) {
	case 0:
		if d.mayErr {
			out["unheardOf"] = 1
		}
	case 1:
		out["metadata"].(map[string]any)["annotations"] = nil
	case 2:
		out["metadata"].(map[string]any)["labels"] = map[string]any{}
	}
	return out
}

// What somebody updates the object to.
func (d *drawer) update(from, template map[string]any, created bool) map[string]any {
	d.mayErr = true
	out := d.part(from, 0.9, 0.1).(map[string]any)
	out["apiVersion"], out["kind"] = template["apiVersion"], template["kind"]
	out["metadata"] = d.metadata(from, 0.9, 0.1)
	metadata := out["metadata"].(map[string]any)
	if created {
		metadata["uid"] = "u"
	}
	switch d.Intn(16) {
	case 0:
		metadata["managedFields"] = []any{}
	case 1:
		metadata["managedFields"] = []any{map[string]any{}}
	case 2, 3, 4:
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
		}
		config := d.config(template)
		annotations[lastApplied] = string(must(json.Marshal(config)))
		metadata["annotations"] = annotations
	}
	return out
}
