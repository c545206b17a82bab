// Writes what Kubernetes makes of expressions: what is wrong with them, their type, their estimated cost, their value or
// the error that running them ends in, and what that did cost. The expressions are those of cases/, one file a topic,
// and as many drawn at random, always the same ones for the same seed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// One expression, and the name of the schema that it is about.
type question struct{ on, expression string }

// read gives the questions of a file of cases: one a line, about the schema of the last line "on NAME". What spans lines
// is written "quoted" and as a Go string.
func read(path string) (questions []question) {
	on := "scalars"
	for _, line := range strings.Split(string(must(os.ReadFile(path))), "\n") {
		name, isOn := strings.CutPrefix(line, "on ")
		text, isQuoted := strings.CutPrefix(line, "quoted ")
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case isOn:
			on = name
		case isQuoted:
			questions = append(questions, question{on, must(strconv.Unquote(text))})
		default:
			questions = append(questions, question{on, line})
		}
	}
	return questions
}

func write(path string, schemas map[string]*about, questions []question) {
	file := must(os.Create(path))
	defer file.Close()
	out := bufio.NewWriter(file)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	count := 0
	for _, q := range questions {
		subject, ok := schemas[q.on]
		if !ok {
			panic("no schema " + q.on)
		}
		given, always := subject.answer(q)
		if !always {
			continue
		}
		if err := encoder.Encode(given); err != nil {
			panic(fmt.Errorf("%s: %w", q.expression, err))
		}
		count++
	}
	fmt.Printf("%5d %s\n", count, filepath.Base(path))
}

func main() {
	out := flag.String("out", "../tests/vectors", "folder to write to")
	count := flag.Int("random", 600, "how many expressions to draw")
	seed := flag.Int64("seed", 1, "of the draw")
	flag.Parse()
	schemas := map[string]*about{}
	written := map[string]json.RawMessage{}
	for _, path := range must(filepath.Glob("schemas/*.yaml")) {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		schemas[name] = load(path)
		written[name] = schemas[name].document
	}
	text := must(json.MarshalIndent(written, "", " "))
	if err := os.WriteFile(filepath.Join(*out, "schemas.json"), append(text, '\n'), 0o644); err != nil {
		panic(err)
	}
	for _, path := range must(filepath.Glob("cases/*.txt")) {
		topic := strings.TrimSuffix(filepath.Base(path), ".txt")
		write(filepath.Join(*out, topic+".jsonl"), schemas, read(path))
	}
	draw := &drawer{rand.New(rand.NewSource(*seed))}
	drawn := make([]question, *count)
	for i := range drawn {
		drawn[i] = question{"object", draw.expression()}
	}
	write(filepath.Join(*out, "random.jsonl"), schemas, drawn)
	write(filepath.Join(*out, "texts.jsonl"), schemas, draw.texts(*count/20))
}
