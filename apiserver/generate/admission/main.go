// Tells a real kube-apiserver a story, step by step, and writes down what it answers.
//
//	go run . SERVER TOKEN < steps.txt > ../../tests/go/admission.txt
//
// A step is: verb, apiVersion, plural, namespace, name, subresource, body; separated by tabs, `-` for nothing. The
// server needs a controller for quotas beside it: `await` waits until a quota is counted.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	patience = 30 * time.Second
	pause    = 100 * time.Millisecond
)

var methods = map[string]string{
	"create": http.MethodPost, "update": http.MethodPut, "merge": http.MethodPatch, "delete": http.MethodDelete,
	"get": http.MethodGet, "await": http.MethodGet,
}

type step struct{ verb, apiVersion, plural, namespace, name, sub, body string }

func (s step) path() string {
	parts := []string{"apis", s.apiVersion}
	if !strings.Contains(s.apiVersion, "/") {
		parts[0] = "api"
	}
	if s.namespace != "" {
		parts = append(parts, "namespaces", s.namespace)
	}
	for _, part := range []string{s.plural, s.name, s.sub} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return "/" + strings.Join(parts, "/")
}

type server struct {
	address, token string
	client         http.Client
}

func (s *server) do(step step) (int, []byte) {
	request, err := http.NewRequest(methods[step.verb], s.address+step.path(), bytes.NewBufferString(step.body))
	check(err)
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	if step.verb == "merge" {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := s.client.Do(request)
	check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err)
	return response.StatusCode, body
}

// await asks until the object has a status that counts something.
func (s *server) await(step step) {
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		var quota struct {
			Status struct{ Used map[string]string }
		}
		_, body := s.do(step)
		check(json.Unmarshal(body, &quota))
		if len(quota.Status.Used) > 0 {
			return
		}
		if time.Now().After(end) {
			log.Fatalf("not counted: %s", step.path())
		}
	}
}

func parse(line string) step {
	parts := strings.SplitN(line, "\t", 7)
	for i, part := range parts {
		if part == "-" {
			parts[i] = ""
		}
	}
	if len(parts) != 7 {
		log.Fatalf("not a step: %q", line)
	}
	return step{parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]}
}

// compact gives an object the fields that tests compare, in the order of their names.
func compact(body []byte) string {
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	check(decoder.Decode(&tree))
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	text, err := json.Marshal(tree)
	check(err)
	return string(text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	server := &server{address: os.Args[1], token: os.Args[2], client: http.Client{Transport: transport}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step := parse(line)
		if step.verb == "await" {
			server.await(step)
			continue
		}
		code, body := server.do(step)
		fmt.Printf("%s\t%d\t%s\n", line, code, compact(body))
	}
	check(lines.Err())
}
