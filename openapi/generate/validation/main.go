// Writes what a Kubernetes API server says to the objects of cases/: the vectors that the Rust validation must meet.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"k8s.io/kubernetes/pkg/capabilities"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: validation <cases folder> <vectors file>")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder, target string) error {
	// Servers are told to allow what their pods need; nobody runs one that is not.
	capabilities.Setup(true, 0)
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return err
	}
	sort.Strings(files)
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	defer out.Close()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := replay(string(text), out); err != nil {
			return fmt.Errorf("%s:%w", file, err)
		}
	}
	return nil
}
