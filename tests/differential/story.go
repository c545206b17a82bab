package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// topic is a series of requests that belong together, in a namespace of their own.
type topic struct {
	name string
	// It is only told when it was asked for.
	apart bool
	steps []step
}

// step is one request, and what is done with its answer.
type step struct {
	// Steps of the same name are one case of the table.
	name, method, path, body string
	header                   map[string]string
	// What the real server has to answer, or the story is not about what it says; 0 for anything.
	want int
	// Asked again until the answer has this status; 0 for once.
	until int
	// How many events a watch is read for; 0 for all.
	events int
	// Parts of the answer that later steps use as ${name}.
	keep map[string]string
}

// What stories call the sorts of PATCH.
var patches = map[string]string{
	"MERGE": "application/merge-patch+json", "STRATEGIC": "application/strategic-merge-patch+json",
	"JSONPATCH": "application/json-patch+json", "APPLY": "application/apply-patch+yaml",
}

// wire is the method and the headers that are sent.
func (s step) wire() (string, map[string]string) {
	header := map[string]string{}
	method := s.method
	if sort, ok := patches[s.method]; ok {
		method, header["Content-Type"] = "PATCH", sort
	} else if s.body != "" {
		header["Content-Type"] = "application/json"
	}
	if s.method == "WATCH" {
		method = "GET"
	}
	maps.Copy(header, s.header)
	return method, header
}

var (
	requestLine = regexp.MustCompile(`^([A-Z]+) (\S+)(?: -> (\d+))?$`)
	headerLine  = regexp.MustCompile(`^([A-Z][A-Za-z0-9.%-]*): (.*)$`)
	keepLine    = regexp.MustCompile(`^keep (\w+) = (\S+)$`)
	letLine     = regexp.MustCompile(`^let (\w+) = (\S+)$`)
	untilLine   = regexp.MustCompile(`^until (\d+)$`)
	eventsLine  = regexp.MustCompile(`^events (\d+)$`)
	variable    = regexp.MustCompile(`\$\{(\w+)\}`)
)

// fill puts the values of variables in their places; what has no value stays, and is seen in the report.
func fill(text string, variables map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := variables[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// readStories reads every file of the folder; the topic is called as its file.
func readStories(folder string) ([]topic, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var topics []topic
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		topic, err := parseStory(strings.TrimSuffix(filepath.Base(path), ".txt"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		topics = append(topics, topic)
	}
	return topics, nil
}

// parseStory reads blocks that empty lines separate; README.md says what is in them.
func parseStory(name, text string) (topic, error) {
	told := topic{name: name}
	abbreviations := map[string]string{}
	for number, block := range strings.Split(text, "\n\n") {
		var lines []string
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			if line == "apart" {
				told.apart = true
			} else if let := letLine.FindStringSubmatch(line); let != nil {
				abbreviations[let[1]] = fill(let[2], abbreviations)
			} else if line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		step, err := parseStep(lines, abbreviations)
		if err != nil {
			return topic{}, fmt.Errorf("block %d: %w", number+1, err)
		}
		step.name = fmt.Sprintf("%s/%d", name, len(told.steps)+1)
		told.steps = append(told.steps, step)
	}
	return told, nil
}

func parseStep(lines []string, abbreviations map[string]string) (step, error) {
	head := requestLine.FindStringSubmatch(lines[0])
	if head == nil {
		return step{}, fmt.Errorf("not a request: %q", lines[0])
	}
	read := step{method: head[1], path: fill(head[2], abbreviations), header: map[string]string{}, keep: map[string]string{}}
	read.want, _ = strconv.Atoi(head[3])
	rest := lines[1:]
	for len(rest) > 0 && read.takes(rest[0], abbreviations) {
		rest = rest[1:]
	}
	body, err := parseBody(strings.Join(rest, "\n"))
	read.body = fill(body, abbreviations)
	return read, err
}

// takes reads a line between the request and its body.
func (s *step) takes(line string, abbreviations map[string]string) bool {
	if found := headerLine.FindStringSubmatch(line); found != nil {
		s.header[found[1]] = fill(found[2], abbreviations)
	} else if found := keepLine.FindStringSubmatch(line); found != nil {
		s.keep[found[1]] = found[2]
	} else if found := untilLine.FindStringSubmatch(line); found != nil {
		s.until, _ = strconv.Atoi(found[1])
	} else if found := eventsLine.FindStringSubmatch(line); found != nil {
		s.events, _ = strconv.Atoi(found[1])
	} else {
		return false
	}
	return true
}

// parseBody makes YAML JSON; lines that begin with | are sent as they are.
func parseBody(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if strings.HasPrefix(text, "|") {
		return strings.TrimPrefix(strings.ReplaceAll(text, "\n|", "\n"), "|"), nil
	}
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return "", fmt.Errorf("body: %w", err)
	}
	return string(body), nil
}
