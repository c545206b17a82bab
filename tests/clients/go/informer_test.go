package clients

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// reporting tells of every event, by what happened to which object with which data.
func reporting(seen chan<- string) cache.ResourceEventHandler {
	tell := func(what string, object any) {
		if found, ok := object.(*corev1.ConfigMap); ok && found.Labels["app"] == "clients" {
			seen <- what + " " + found.Name + " " + found.Data["a"]
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("updated", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	}
}

func TestSharedInformerStartsWithAWatch(t *testing.T) {
	config, sent := config(t)
	space := namespace(t)
	client := kubernetes.NewForConfigOrDie(config)
	maps := client.CoreV1().ConfigMaps(space)
	_, err := maps.Create(t.Context(), configMap("before", map[string]string{"a": "1"}), metav1.CreateOptions{})
	must(t, err)

	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(space))
	informer := factory.Core().V1().ConfigMaps()
	seen := make(chan string, 100)
	_, err = informer.Informer().AddEventHandler(reporting(seen))
	must(t, err)
	factory.Start(t.Context().Done())
	equal(t, "synchronised", cache.WaitForCacheSync(deadline(t), informer.Informer().HasSynced), true)
	equal(t, "event", next(t, seen), "added before 1")

	made, err := maps.Create(t.Context(), configMap("after", map[string]string{"a": "1"}), metav1.CreateOptions{})
	must(t, err)
	equal(t, "event", next(t, seen), "added after 1")
	made.Data["a"] = "2"
	_, err = maps.Update(t.Context(), made, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "event", next(t, seen), "updated after 2")
	must(t, maps.Delete(t.Context(), "before", metav1.DeleteOptions{}))
	equal(t, "event", next(t, seen), "deleted before 1")

	left, err := informer.Lister().ConfigMaps(space).List(labels.SelectorFromSet(labels.Set{"app": "clients"}))
	must(t, err)
	equal(t, "left", len(left), 1)
	starts := sent.all(func(e exchange) bool { return e.query.Get("sendInitialEvents") == "true" })
	equal(t, "watches that brought what was there", len(starts), 1)
	equal(t, "status", starts[0].status, 200)
	lists := sent.all(func(e exchange) bool { return e.method == "GET" && !e.query.Has("watch") })
	if len(lists) > 0 {
		t.Fatalf("lists: %+v", lists)
	}
}
