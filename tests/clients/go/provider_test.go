package clients

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var projectKind = schema.GroupVersionKind{Group: "resourcemanager.miloapis.com", Version: "v1alpha1", Kind: "Project"}

// sighting is something that happened to a ConfigMap in a project.
type sighting struct{ project, name, what string }

// provider does what Milo's provider for multicluster-runtime does: it follows projects, and has a cluster for each
// that is ready, by a path below the host of the server, for as long as the project is there.
type provider struct {
	client.Client
	config *rest.Config
	seen   chan sighting

	lock    sync.Mutex
	engaged map[string]context.CancelFunc
	running sync.WaitGroup
}

func (p *provider) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	// Others test with projects, too.
	if !strings.HasPrefix(request.Name, "mc-") {
		return ctrl.Result{}, nil
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	project := &unstructured.Unstructured{}
	project.SetGroupVersionKind(projectKind)
	if err := p.Get(ctx, request.NamespacedName, project); apierrors.IsNotFound(err) {
		if disengage, ok := p.engaged[request.Name]; ok {
			disengage()
			delete(p.engaged, request.Name)
		}
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if _, ok := p.engaged[request.Name]; ok || !isReady(project) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, p.engage(ctx, request.Name)
}

func isReady(project *unstructured.Unstructured) bool {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(project.Object, &status)
	return err == nil && apimeta.IsStatusConditionTrue(status.Status.Conditions, "Ready")
}

func (p *provider) engage(ctx context.Context, name string) error {
	config := rest.CopyConfig(p.config)
	host, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	// Whatever path the configuration had, this one is from the root.
	host.Path = fmt.Sprintf("%s/projects/%s/control-plane", milo, name)
	config.Host = host.String()
	project, err := cluster.New(config, func(options *cluster.Options) { options.Scheme = scheme.Scheme })
	if err != nil {
		return err
	}
	informer, err := project.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	tell := func(what string, object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if made, ok := object.(*corev1.ConfigMap); ok && made.Namespace == "default" && made.Name != "kube-root-ca.crt" {
			p.seen <- sighting{name, made.Name, what}
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(made any) { tell("came", made) }, DeleteFunc: func(gone any) { tell("went", gone) },
	})
	if err != nil {
		return err
	}
	living, disengage := context.WithCancel(ctx)
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		_ = project.Start(living)
	}()
	if !project.GetCache().WaitForCacheSync(living) {
		disengage()
		return errors.New("the cache of the project never caught up")
	}
	p.engaged[name] = disengage
	return nil
}

// TestProjectsAsClusters: a controller sees objects come and go in three projects, and projects themselves.
func TestProjectsAsClusters(t *testing.T) {
	own := ours(t)
	manager, err := ctrl.NewManager(own, ctrl.Options{Scheme: scheme.Scheme, Metrics: metrics.Options{BindAddress: "0"}})
	must(t, err)
	follower := &provider{
		Client: manager.GetClient(), config: manager.GetConfig(), seen: make(chan sighting, 64),
		engaged: map[string]context.CancelFunc{},
	}
	project := &unstructured.Unstructured{}
	project.SetGroupVersionKind(projectKind)
	must(t, ctrl.NewControllerManagedBy(manager).For(project).Named("projects").Complete(follower))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		follower.running.Wait()
	})

	direct, err := client.New(own, client.Options{})
	must(t, err)
	within := map[string]client.Client{}
	for _, name := range []string{"mc-one", "mc-two", "mc-three"} {
		made := project.DeepCopy()
		made.SetName(name)
		owner := map[string]any{"kind": "Organization", "name": "mc"}
		must(t, unstructured.SetNestedMap(made.Object, owner, "spec", "ownerRef"))
		must(t, direct.Create(t.Context(), made))
		t.Cleanup(func() { _ = client.IgnoreNotFound(direct.Delete(context.Background(), made)) })
		config := rest.CopyConfig(own)
		config.Host += "/projects/" + name + "/control-plane"
		within[name], err = client.New(config, client.Options{})
		must(t, err)
	}
	for name, there := range within {
		made := configMap("x", map[string]string{"of": name})
		made.Namespace = "default"
		must(t, there.Create(t.Context(), made))
		equal(t, "seen", next(t, follower.seen), sighting{name, "x", "came"})
	}
	for name, there := range within {
		gone := configMap("x", nil)
		gone.Namespace = "default"
		must(t, there.Delete(t.Context(), gone))
		equal(t, "seen", next(t, follower.seen), sighting{name, "x", "went"})
	}
	leaving := project.DeepCopy()
	leaving.SetName("mc-two")
	must(t, direct.Delete(t.Context(), leaving))
	eventually(t, "a project that is gone is not followed any more", func() (bool, error) {
		follower.lock.Lock()
		defer follower.lock.Unlock()
		return len(follower.engaged) == 2 && follower.engaged["mc-two"] == nil, nil
	})
}
