package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// suite is what of a ginkgo report is looked at.
type suite struct {
	RunTime     time.Duration
	SpecReports []spec
}

type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	RunTime                 time.Duration
	Failure                 struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

func (s spec) name() string {
	var parts []string
	for _, part := range append(s.ContainerHierarchyTexts, s.LeafNodeText) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// why is one line, for the reader of a list.
func (s spec) why() string {
	message := strings.Join(strings.Fields(s.Failure.Message), " ")
	if letters := []rune(message); len(letters) > 300 {
		message = string(letters[:300]) + " ..."
	}
	place := s.Failure.Location.FileName
	if after := strings.LastIndex(place, "/test/e2e/"); after >= 0 {
		place = place[after+1:]
	}
	return fmt.Sprintf("%s at %s:%d: %s", s.State, place, s.Failure.Location.LineNumber, message)
}

func readReport(path string) ([]suite, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var suites []suite
	return suites, json.Unmarshal(text, &suites)
}

type verdict struct {
	passed int
	took   time.Duration
	// What concerns all tests: a setup that failed.
	setup []string
	// Each with its reason, in the order of the names.
	failed [][2]string
}

// judge holds every name against the report. A test that did not run has not passed.
func judge(names []string, suites []suite) verdict {
	var v verdict
	ran := map[string]spec{}
	for _, suite := range suites {
		v.took += suite.RunTime
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType == "It" {
				ran[spec.name()] = spec
			} else if spec.State == "failed" || spec.State == "panicked" || spec.State == "timedout" {
				v.setup = append(v.setup, spec.LeafNodeType+" "+spec.why())
			}
		}
	}
	for _, name := range names {
		switch spec, found := ran[name]; {
		case !found:
			v.failed = append(v.failed, [2]string{name, "not in the suite"})
		case spec.State == "passed":
			v.passed++
		case spec.State == "skipped" && spec.Failure.Message == "":
			v.failed = append(v.failed, [2]string{name, "did not run"})
		default:
			v.failed = append(v.failed, [2]string{name, spec.why()})
		}
	}
	return v
}

func (v verdict) String() string {
	var text strings.Builder
	for _, setup := range v.setup {
		fmt.Fprintf(&text, "SETUP   %s\n", setup)
	}
	for _, failed := range v.failed {
		fmt.Fprintf(&text, "FAILED  %s\n        %s\n", failed[0], failed[1])
	}
	total := v.passed + len(v.failed)
	fmt.Fprintf(&text, "conformance: %d passed, %d failed, %d in all, in %s\n",
		v.passed, len(v.failed), total, v.took.Round(time.Second))
	return text.String()
}
