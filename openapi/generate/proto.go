// Protobuf numbers, checked against the message definitions that the packages publish.

package main

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// definitions are the messages of one generated.proto: by message name and field number, the declared type.
type definitions map[string]map[int]string

var (
	messageLine = regexp.MustCompile(`^message (\w+) \{$`)
	fieldLine   = regexp.MustCompile(`^  (?:optional |repeated )?(map<.*>|[\w.]+) (\w+) = (\d+);$`)
)

func readDefinitions(dir string) definitions {
	file, err := os.Open(filepath.Join(dir, "generated.proto"))
	if os.IsNotExist(err) {
		return nil
	}
	must(err)
	defer file.Close()
	all, message := definitions{}, ""
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if found := messageLine.FindStringSubmatch(lines.Text()); found != nil {
			message = found[1]
			all[message] = map[int]string{}
		} else if found := fieldLine.FindStringSubmatch(lines.Text()); found != nil {
			number, err := strconv.Atoi(found[3])
			must(err)
			all[message][number] = found[1]
		}
	}
	must(lines.Err())
	return all
}

// number is the field's protobuf number, or 0 where the field never travels in protobuf.
// The declared type must be the one that the Go type implies, so that the table need not repeat it.
// (The wire type inside the struct tag is not always right, and nothing reads it.)
func (b *book) number(s *structure, f reflect.StructField, out field) int {
	tag := f.Tag.Get("protobuf")
	if tag == "-" || !s.proto {
		return 0
	}
	if tag == "" {
		if out.name != "." || f.Type != reflect.TypeFor[metav1.TypeMeta]() {
			fail("%v.%s has no protobuf tag", s.of, f.Name)
		}
		return 0
	}
	number, err := strconv.Atoi(strings.Split(tag, ",")[1])
	must(err)
	declared := b.sources.of(s.of).messages[s.of.Name()][number]
	if want := declaredType(out, s.of); declared != want {
		fail("%v.%s is declared as %q, not %q", s.of, f.Name, declared, want)
	}
	return number
}

// declaredType is how the definition spells what a field of this Go type must be.
func declaredType(f field, in reflect.Type) string {
	element := scalars[f.element.Kind()]
	switch {
	case special[f.element] != "" || isWrapper(f.element) || f.element.Kind() == reflect.Struct:
		element = f.element.Name()
		if path := f.element.PkgPath(); path != in.PkgPath() {
			element = "." + strings.ReplaceAll(path, "/", ".") + "." + element
		}
	case isBytes(f.element):
		element = "bytes"
	case f.element.Kind() == reflect.Float64:
		element = "double"
	}
	if f.form == "{}" {
		return "map<string, " + element + ">"
	}
	return element
}
