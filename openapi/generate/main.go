// Writes what the API server must know of every built-in kind, and test vectors made by the same Go types.
//
//	go run . write                              all the files of the repository
//	go run . vectors -each 50 -seed 7 > many.txt   one of them, larger, for a longer test run
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
)

// outputs are the files, by the name one asks for them with. A count of 0 is the repository's own size.
var outputs = []struct {
	name, path string
	write      func(out io.Writer, seed uint64, each int)
}{
	{"table", "../src/builtin/table.txt", func(out io.Writer, _ uint64, _ int) { writeTable(out) }},
	{"vectors", "../tests/go/vectors.txt", writeVectors},
	{"mistakes", "../tests/go/mistakes.txt", writeMistakes},
	{"damaged", "../tests/go/damaged.txt", writeDamaged},
	{"quantities", "../tests/go/quantities.txt", writeQuantities},
	{"times", "../tests/go/times.txt", writeTimes},
	{"selectors", "../../apiserver/tests/go/selectors.txt", writeSelectors},
	{"patches", "../../apiserver/tests/go/patches.txt", writePatches},
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: generate write | table | vectors | mistakes | damaged | quantities | times | selectors | patches [-each n] [-seed n]")
		os.Exit(2)
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	each := flags.Int("each", 0, "objects per kind, or lines")
	seed := flags.Uint64("seed", 1, "of the random values")
	must(flags.Parse(os.Args[2:]))
	found := false
	for _, output := range outputs {
		var text bytes.Buffer
		switch os.Args[1] {
		case "write":
			output.write(&text, 1, 0)
			must(os.WriteFile(output.path, text.Bytes(), 0o644))
		case output.name:
			output.write(&text, *seed, *each)
			_, err := os.Stdout.Write(text.Bytes())
			must(err)
		default:
			continue
		}
		found = true
	}
	if !found {
		fail("no such output as %q", os.Args[1])
	}
}
