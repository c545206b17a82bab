package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const (
	// How long one answer may take, on a machine that builds something else at the same time.
	answerTime = 60 * time.Second
	// How often a condition is looked at.
	pause = 50 * time.Millisecond
	// A watch that says nothing for so long has nothing more to say.
	silence = 3 * time.Second
)

// How long a condition may take to come about.
var patience = 60 * time.Second

// The headers that are compared; of those in presence, whether they are there.
var (
	comparedHeaders = []string{"Content-Type", "Warning", "Allow", "Location"}
	presentHeaders  = []string{"Etag", "Last-Modified", "Retry-After", "Audit-Id"}
)

// server is one of the two that are compared.
type server struct {
	name, base string
	client     *http.Client
}

// answer is what a server says to a request: body is a tree if it was JSON or protobuf, and else a string.
type answer struct {
	status  int
	headers map[string]string
	body    any
}

func open(name, kubeconfig string) (*server, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// A redirect is an answer.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &server{name: name, base: strings.TrimSuffix(config.Host, "/"), client: client}, nil
}

// do sends the step as it stands, its variables filled in.
func (s *server) do(step step, variables map[string]string) (answer, error) {
	method, header := step.wire()
	path := fill(step.path, variables)
	if step.method == "WATCH" {
		path += separator(path) + "watch=1"
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(fill(step.body, variables)))
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header.Set("User-Agent", "differential")
	for name, value := range header {
		request.Header.Set(name, fill(value, variables))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", s.name, err)
	}
	defer response.Body.Close()
	told := answer{status: response.StatusCode, headers: compared(response.Header)}
	if step.method == "WATCH" && response.StatusCode == http.StatusOK {
		told.body = events(response.Body, step.events, cancel)
		return told, nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %s %s: %w", s.name, method, path, err)
	}
	told.body = tree(body, response.Header.Get("Content-Type"))
	return told, nil
}

// await asks until the answer has the status that the step waits for; the last answer counts, whatever it is.
func (s *server) await(step step, variables map[string]string, patience time.Duration) (answer, error) {
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		told, err := s.do(step, variables)
		if err != nil || step.until == 0 || told.status == step.until || time.Now().After(end) {
			return told, err
		}
	}
}

func separator(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

func compared(header http.Header) map[string]string {
	found := map[string]string{}
	for _, name := range comparedHeaders {
		if values := header.Values(name); len(values) > 0 {
			found[name] = strings.Join(values, "\n")
		}
	}
	for _, name := range presentHeaders {
		if header.Get(name) != "" {
			found[name] = "present"
		}
	}
	return found
}

// events reads what a watch says: so many events, or all until it ends or falls silent.
func events(stream io.Reader, most int, stop context.CancelFunc) any {
	told := []any{}
	watchdog := time.AfterFunc(silence, stop)
	defer watchdog.Stop()
	decoder := json.NewDecoder(stream)
	decoder.UseNumber()
	for most == 0 || len(told) < most {
		var event any
		if err := decoder.Decode(&event); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
				told = append(told, "broken off: "+err.Error())
			}
			break
		}
		watchdog.Reset(silence)
		told = append(told, event)
	}
	return told
}

// tree makes a body comparable.
func tree(body []byte, contentType string) any {
	if strings.HasPrefix(contentType, "application/vnd.kubernetes.protobuf") {
		return fromProtobuf(body)
	}
	if strings.HasPrefix(contentType, "application/yaml") {
		// How YAML is laid out is the server's choice.
		if same, err := yaml.YAMLToJSON(body); err == nil {
			body = same
		}
	}
	var decoded any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil || decoder.More() {
		return string(body)
	}
	return decoded
}

// escape makes a value fit for a query.
func escape(value string) string { return url.QueryEscape(value) }
