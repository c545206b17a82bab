// Package kcp drives the server of $KUBECONFIG with what controllers for kcp are made of: its multicluster-provider on
// multicluster-runtime, and the types of its SDK.
package kcp

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
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1alpha1 "github.com/kcp-dev/sdk/apis/core/v1alpha1"
	tenancyv1alpha1 "github.com/kcp-dev/sdk/apis/tenancy/v1alpha1"
)

// How long a condition may take to come about, on a machine that builds something else at the same time.
const patience = 60 * time.Second

var scheme = runtime.NewScheme()

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, apisv1alpha1.AddToScheme, apisv1alpha2.AddToScheme, corev1alpha1.AddToScheme, tenancyv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	log.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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

// in is a way to a workspace.
func in(t *testing.T, path string) *rest.Config {
	t.Helper()
	file := os.Getenv("KUBECONFIG")
	if file == "" {
		t.Fatal("KUBECONFIG names no server")
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	must(t, err)
	server, err := url.Parse(config.Host)
	must(t, err)
	server.Path = "/clusters/" + path
	config.Host = server.String()
	// The default, 5 requests a second, would be measured here and not the server.
	config.QPS = -1
	return config
}

func clientIn(t *testing.T, path string) client.Client {
	t.Helper()
	made, err := client.New(in(t, path), client.Options{Scheme: scheme})
	must(t, err)
	return made
}

// makeWorkspace returns the id of a workspace that is made for the test alone.
func makeWorkspace(t *testing.T, parent, name string, of *tenancyv1alpha1.WorkspaceTypeReference) string {
	t.Helper()
	above := clientIn(t, parent)
	workspace := &tenancyv1alpha1.Workspace{}
	workspace.Name, workspace.Spec.Type = name, of
	must(t, above.Create(t.Context(), workspace))
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := client.IgnoreNotFound(above.Delete(context.Background(), workspace)); err != nil {
			t.Error(err)
		}
	})
	return workspace.Spec.Cluster
}

// watches counts the watches that a program opens.
type watches struct {
	// Guards paths: informers open their watches from goroutines of their own.
	mutex sync.Mutex
	paths []string
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

func (w *watches) around(next http.RoundTripper) http.RoundTripper {
	return tripper(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Get("watch") != "" {
			w.mutex.Lock()
			w.paths = append(w.paths, request.URL.Path)
			w.mutex.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// of returns those of a resource.
func (w *watches) of(resource string) []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var found []string
	for _, path := range w.paths {
		if strings.HasSuffix(path, "/"+resource) {
			found = append(found, path)
		}
	}
	return found
}
