// Writes what a Kubernetes API server makes of objects that leave things out: pairs of an object as written and the same
// object after decoding, which sets the defaults. Where the server adds nothing, the second one is left out.
//
//	go run . write                          the file of the repository: the objects of objects/, and some with holes
//	go run . pairs -each 20 -seed 7 > many.txt   more objects with holes, for a longer test run
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed objects
var objects embed.FS

// filled holds objects of every kind, with most fields set: the last part of each line.
const filled = "../../tests/go/vectors.txt"

const path = "../../tests/go/defaults.txt"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: defaults write | pairs [-each n] [-seed n]")
		os.Exit(2)
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	each := flags.Int("each", 1, "objects with holes for each filled one")
	seed := flags.Uint64("seed", 1, "of the holes")
	must(flags.Parse(os.Args[2:]))
	var text bytes.Buffer
	switch os.Args[1] {
	case "write":
		writePairs(&text, 1, 1)
		must(os.WriteFile(path, text.Bytes(), 0o644))
	case "pairs":
		writePairs(&text, *seed, *each)
		_, err := os.Stdout.Write(text.Bytes())
		must(err)
	default:
		must(fmt.Errorf("no such output as %q", os.Args[1]))
	}
}

func writePairs(out io.Writer, seed uint64, each int) {
	s := newServer()
	for _, object := range written() {
		after, err := s.decoded(object)
		must(err)
		fmt.Fprintf(out, "%s\t%s\n", object, after)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for _, object := range filledObjects() {
		for range each {
			s.writeHoled(out, random, object)
		}
	}
}

// writeHoled prints an object with holes, unless the server refuses it.
func (s *server) writeHoled(out io.Writer, random *rand.Rand, text []byte) {
	var object map[string]any
	must(json.Unmarshal(text, &object))
	pierce(random, object, true)
	before, err := json.Marshal(object)
	must(err)
	plain, err := s.plain(before)
	if err != nil {
		return
	}
	after, err := s.decoded(before)
	switch {
	case err != nil:
	case string(after) == string(plain):
		fmt.Fprintf(out, "%s\t\n", before)
	default:
		fmt.Fprintf(out, "%s\t%s\n", before, after)
	}
}

// written are the objects of objects/, as JSON.
func written() (all [][]byte) {
	files, err := objects.ReadDir("objects")
	must(err)
	for _, file := range files {
		text, err := objects.ReadFile("objects/" + file.Name())
		must(err)
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			object, err := yaml.YAMLToJSONStrict([]byte(part))
			must(err)
			all = append(all, object)
		}
	}
	return all
}

func filledObjects() (all [][]byte) {
	text, err := os.ReadFile(filled)
	must(err)
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, []byte(parts[len(parts)-1]))
	}
	return all
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
