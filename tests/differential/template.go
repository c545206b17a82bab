package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// readTemplate reads a YAML file of the folder into a value.
func readTemplate(folder, name string, into any) error {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// pick makes one value of a template. A key that ends in ~ is there every other time; {one of: [...]} is one of them,
// {some of: [...]} any number of them, now and then in another order; everything else is itself.
func pick(template any, dice *rand.Rand) any {
	switch template := template.(type) {
	case map[string]any:
		if choices, ok := template["one of"].([]any); ok {
			return pick(choices[dice.IntN(len(choices))], dice)
		}
		if choices, ok := template["some of"].([]any); ok {
			return pickSome(choices, dice)
		}
		return pickFields(template, dice)
	case []any:
		picked := make([]any, len(template))
		for i, inside := range template {
			picked[i] = pick(inside, dice)
		}
		return picked
	}
	return template
}

func pickFields(template map[string]any, dice *rand.Rand) any {
	picked := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(template)) {
		name, optional := strings.CutSuffix(key, "~")
		if !optional || dice.IntN(2) == 0 {
			picked[name] = pick(template[key], dice)
		}
	}
	return picked
}

func pickSome(choices []any, dice *rand.Rand) any {
	picked := []any{}
	for _, choice := range choices {
		if dice.IntN(2) == 0 {
			picked = append(picked, pick(choice, dice))
		}
	}
	if dice.IntN(3) == 0 {
		dice.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
	}
	return picked
}

func oneOf[T any](dice *rand.Rand, choices ...T) T { return choices[dice.IntN(len(choices))] }

// text is the value in JSON; templates hold nothing that JSON cannot say.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}
