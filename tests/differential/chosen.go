package main

import (
	"fmt"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"
)

// chosen is a difference that is known: the patterns are regular expressions, one that is left out matches everything.
type chosen struct {
	Topic   string `json:"topic"`
	Request string `json:"request"`
	At      string `json:"at"`
	Kube    string `json:"kube"`
	Hanse   string `json:"hanse"`
	Why     string `json:"why"`
	// It is known, and not meant: somebody will see to it.
	Open bool `json:"open"`

	patterns [5]*regexp.Regexp
	// How often it was met.
	met int
}

func readChosen(path string) ([]*chosen, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []*chosen
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, one := range all {
		if one.Why == "" || one.At == "" {
			return nil, fmt.Errorf("%s: an entry without a place or a reason", path)
		}
		for i, pattern := range []string{one.Topic, one.Request, one.At, one.Kube, one.Hanse} {
			if one.patterns[i], err = regexp.Compile(`(?s)^(?:` + orAnything(pattern) + `)$`); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return all, nil
}

func orAnything(pattern string) string {
	if pattern == "" {
		return ".*"
	}
	return pattern
}

// matches says whether this is such a difference; request is the method and the path.
func (c *chosen) matches(topic, request string, found difference) bool {
	for i, text := range []string{topic, request, found.at, found.kube, found.hanse} {
		if !c.patterns[i].MatchString(text) {
			return false
		}
	}
	return true
}
