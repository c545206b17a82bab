// Package clients drives the server of $KUBECONFIG with the clients that Kubernetes' Go programs are made of, and
// looks at what they see, and at what they sent.
package clients

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// How long a condition may take to come about, on a machine that builds something else at the same time.
const patience = 30 * time.Second

// config is a client's way to the server, and what it sends on that way.
func config(t *testing.T) (*rest.Config, *wire) {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		t.Fatal("KUBECONFIG names no server")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	sent := &wire{}
	config.Wrap(sent.around)
	// The default, 5 requests a second, would be measured here and not the server.
	config.QPS = -1
	return config, sent
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// eventually waits until the condition holds; an error ends the test.
func eventually(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	condition := func(context.Context) (bool, error) { return holds() }
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// deadline is closed when patience ends.
func deadline(t *testing.T) <-chan struct{} {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx.Done()
}

// next receives what comes next; that nothing comes, or nothing ever will, ends the test.
func next[T any](t *testing.T, coming <-chan T) T {
	t.Helper()
	select {
	case what, open := <-coming:
		if !open {
			t.Fatal("nothing more will come")
		}
		return what
	case <-deadline(t):
		t.Fatal("nothing came")
	}
	panic("a fatal test goes on")
}

// namespace makes one for the test alone, and takes it away afterwards.
func namespace(t *testing.T) string {
	t.Helper()
	config, _ := config(t)
	namespaces := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces()
	made, err := namespaces.Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clients-"}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := namespaces.Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return made.Name
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "clients"}}, Data: data,
	}
}

// exchange is a request and the head of its answer.
type exchange struct {
	method, path       string
	query              url.Values
	sent, answeredWith string
	status             int
}

// wire remembers the exchanges of one client.
type wire struct {
	// Guards exchanges: informers and controllers send from goroutines of their own.
	mutex     sync.Mutex
	exchanges []exchange
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

func (w *wire) around(next http.RoundTripper) http.RoundTripper {
	return tripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.exchanges = append(w.exchanges, exchange{
				method: request.Method, path: request.URL.Path, query: request.URL.Query(),
				sent:         request.Header.Get("Content-Type"),
				answeredWith: response.Header.Get("Content-Type"), status: response.StatusCode,
			})
		}
		return response, err
	})
}

// all returns the exchanges so far for which it holds.
func (w *wire) all(holds func(exchange) bool) []exchange {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var found []exchange
	for _, one := range w.exchanges {
		if holds(one) {
			found = append(found, one)
		}
	}
	return found
}

func (e exchange) isProtobuf() bool {
	return strings.HasPrefix(e.answeredWith, "application/vnd.kubernetes.protobuf")
}
