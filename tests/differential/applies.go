package main

import (
	"fmt"
	"math/rand/v2"
)

// sort is a kind of which objects are generated.
type sort struct {
	Path string `json:"path"`
	// What is applied, or made before it is patched.
	Object map[string]any `json:"object"`
	// What changes it: a merge patch beside applying, or a strategic one.
	Patch any `json:"patch"`
	// Subresources, and what is applied to each.
	Subresources map[string]map[string]any `json:"subresources"`
}

// applies are sequences in which two or three apply to one object, and now and then somebody writes it otherwise.
func applies(folder string, kept seeds) (topic, error) {
	var sorts []sort
	if err := readTemplate(folder, "apply.yaml", &sorts); err != nil {
		return topic{}, err
	}
	made := topic{name: "apply-random"}
	throw(made.name, kept, func(name string, at int, dice *rand.Rand) {
		of := sorts[at%len(sorts)]
		object := fmt.Sprintf("%s/case-%d", of.Path, at)
		managers := []string{"one", "two", "three"}[:2+dice.IntN(2)]
		for range 4 + dice.IntN(4) {
			step := of.write(object, oneOf(dice, managers...), at, dice)
			step.name = name
			made.steps = append(made.steps, step)
		}
		made.steps = append(made.steps, step{name: name, method: "GET", path: object}, step{name: name, method: "DELETE", path: object + "?gracePeriodSeconds=0"})
	})
	return made, nil
}

// write is one manager's next request: mostly an apply of all that it wants, every other time by force.
func (s sort) write(object, manager string, at int, dice *rand.Rand) step {
	query := "?fieldManager=" + manager
	switch dice.IntN(10) {
	case 0:
		return step{method: "MERGE", path: object + query, body: text(pick(s.Patch, dice))}
	case 1:
		for _, sub := range []string{"status", "scale"} {
			if template, ok := s.Subresources[sub]; ok && dice.IntN(2) == 0 {
				return step{method: "APPLY", path: object + "/" + sub + query + force(dice), body: text(s.named(template, at, dice))}
			}
		}
	}
	return step{method: "APPLY", path: object + query + force(dice), body: text(s.named(s.Object, at, dice))}
}

func force(dice *rand.Rand) string {
	return oneOf(dice, "", "&force=true")
}

// named is one object of the template, with the name of its case.
func (s sort) named(template map[string]any, at int, dice *rand.Rand) map[string]any {
	object := pick(template, dice).(map[string]any)
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	metadata["name"] = fmt.Sprintf("case-%d", at)
	return object
}

// strategics are objects that are patched some times by their schema.
func strategics(folder string, kept seeds) (topic, error) {
	var sorts []sort
	if err := readTemplate(folder, "strategic.yaml", &sorts); err != nil {
		return topic{}, err
	}
	made := topic{name: "strategic-random"}
	throw(made.name, kept, func(name string, at int, dice *rand.Rand) {
		of := sorts[at%len(sorts)]
		object := fmt.Sprintf("%s/case-%d", of.Path, at)
		made.steps = append(made.steps, step{name: name, method: "POST", path: of.Path, body: text(of.named(of.Object, at, dice)), want: 201})
		for range 2 + dice.IntN(3) {
			made.steps = append(made.steps, step{name: name, method: "STRATEGIC", path: object, body: text(pick(of.Patch, dice))})
		}
		made.steps = append(made.steps, step{name: name, method: "DELETE", path: object + "?gracePeriodSeconds=0"})
	})
	return made, nil
}
