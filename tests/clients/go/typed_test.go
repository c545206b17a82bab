package clients

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

func TestTypedLifeOfAConfigMap(t *testing.T) {
	config, sent := config(t)
	space := namespace(t)
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(space)

	made, err := maps.Create(t.Context(), configMap("one", map[string]string{"key": "value"}), metav1.CreateOptions{})
	must(t, err)
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() {
		t.Fatalf("not filled in: %v", made.ObjectMeta)
	}
	_, err = maps.Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
	equal(t, "a second of that name is refused", apierrors.IsAlreadyExists(err), true)

	changed := made.DeepCopy()
	changed.Data["key"] = "other"
	updated, err := maps.Update(t.Context(), changed, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "data", updated.Data["key"], "other")
	_, err = maps.Update(t.Context(), made, metav1.UpdateOptions{})
	equal(t, "an old version is refused", apierrors.IsConflict(err), true)

	must(t, maps.Delete(t.Context(), "one", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
	_, err = maps.Get(t.Context(), "one", metav1.GetOptions{})
	equal(t, "gone", apierrors.IsNotFound(err), true)

	posts := sent.all(func(e exchange) bool { return e.method == "POST" })
	equal(t, "posts", len(posts), 2)
	equal(t, "sent", posts[0].sent, "application/vnd.kubernetes.protobuf")
	equal(t, "answered in protobuf", posts[0].isProtobuf(), true)
}

func TestTypedPatches(t *testing.T) {
	config, _ := config(t)
	space := namespace(t)
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(space)
	_, err := maps.Create(t.Context(), configMap("one", map[string]string{"a": "1", "b": "2"}), metav1.CreateOptions{})
	must(t, err)
	patch := func(kind types.PatchType, patch string, want map[string]string) {
		t.Helper()
		patched, err := maps.Patch(t.Context(), "one", kind, []byte(patch), metav1.PatchOptions{})
		must(t, err)
		equal(t, string(kind), fmt.Sprint(patched.Data), fmt.Sprint(want))
	}
	patch(types.StrategicMergePatchType, `{"data":{"a":"3"}}`, map[string]string{"a": "3", "b": "2"})
	patch(types.MergePatchType, `{"data":{"b":null}}`, map[string]string{"a": "3"})
	patch(types.JSONPatchType, `[{"op":"add","path":"/data/c","value":"4"}]`, map[string]string{"a": "3", "c": "4"})

	apply := applycorev1.ConfigMap("one", space).WithData(map[string]string{"d": "5"})
	applied, err := maps.Apply(t.Context(), apply, metav1.ApplyOptions{FieldManager: "clients"})
	must(t, err)
	equal(t, "applied", fmt.Sprint(applied.Data), fmt.Sprint(map[string]string{"a": "3", "c": "4", "d": "5"}))
	apply.WithData(map[string]string{"a": "6"})
	_, err = maps.Apply(t.Context(), apply, metav1.ApplyOptions{FieldManager: "clients"})
	equal(t, "another's field is refused", apierrors.IsConflict(err), true)
	applied, err = maps.Apply(t.Context(), apply, metav1.ApplyOptions{FieldManager: "clients", Force: true})
	must(t, err)
	equal(t, "forced", applied.Data["a"], "6")
}

func TestTypedListInPages(t *testing.T) {
	config, _ := config(t)
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace(t))
	for i := range 5 {
		_, err := maps.Create(t.Context(), configMap(fmt.Sprint("map-", i), nil), metav1.CreateOptions{})
		must(t, err)
	}
	var names []string
	options := metav1.ListOptions{Limit: 2}
	for {
		page, err := maps.List(t.Context(), options)
		must(t, err)
		for _, item := range page.Items {
			// A controller may put kube-root-ca.crt in every namespace.
			if item.Labels["app"] == "clients" {
				names = append(names, item.Name)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
		equal(t, "a page", len(page.Items), 2)
	}
	equal(t, "names", fmt.Sprint(names), "[map-0 map-1 map-2 map-3 map-4]")
	some, err := maps.List(t.Context(), metav1.ListOptions{LabelSelector: "app=clients", FieldSelector: "metadata.name=map-3"})
	must(t, err)
	equal(t, "selected", len(some.Items), 1)

	must(t, maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=clients"}))
	some, err = maps.List(t.Context(), metav1.ListOptions{LabelSelector: "app=clients"})
	must(t, err)
	equal(t, "left", len(some.Items), 0)
}

func TestTypedWatchFromAVersion(t *testing.T) {
	config, sent := config(t)
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace(t))
	made, err := maps.Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
	must(t, err)
	made.Data = map[string]string{"a": "1"}
	_, err = maps.Update(t.Context(), made, metav1.UpdateOptions{})
	must(t, err)
	must(t, maps.Delete(t.Context(), "one", metav1.DeleteOptions{}))

	events, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion, LabelSelector: "app=clients"})
	must(t, err)
	defer events.Stop()
	for _, want := range []watch.EventType{watch.Modified, watch.Deleted} {
		event := next(t, events.ResultChan())
		equal(t, "event", event.Type, want)
		equal(t, "data", event.Object.(*corev1.ConfigMap).Data["a"], "1")
	}
	watches := sent.all(func(e exchange) bool { return e.query.Has("watch") })
	equal(t, "watches", len(watches), 1)
	equal(t, "watched in protobuf", watches[0].isProtobuf(), true)
}

func TestTypedDeploymentWithStatusAndScale(t *testing.T) {
	config, _ := config(t)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace(t))
	labels := map[string]string{"app": "clients"}
	made, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "replicas by default", *made.Spec.Replicas, 1)
	equal(t, "strategy by default", made.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	equal(t, "generation", made.Generation, 1)

	_, err = deployments.UpdateScale(t.Context(), "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
	}, metav1.UpdateOptions{})
	must(t, err)
	scaled, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	must(t, err)
	equal(t, "scaled", *scaled.Spec.Replicas, 3)
	equal(t, "a change of what is wanted counts", scaled.Generation, 2)

	scaled.Status.ObservedGeneration = 2
	*scaled.Spec.Replicas = 5
	reported, err := deployments.UpdateStatus(t.Context(), scaled, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "status", reported.Status.ObservedGeneration, 2)
	equal(t, "a status does not change what is wanted", *reported.Spec.Replicas, 3)
	equal(t, "nor count as such a change", reported.Generation, 2)
}

func TestTypedRefusals(t *testing.T) {
	config, _ := config(t)
	client := kubernetes.NewForConfigOrDie(config)
	space := namespace(t)
	_, err := client.CoreV1().ConfigMaps(space).Create(t.Context(), configMap("Not A Name", nil), metav1.CreateOptions{})
	equal(t, "a bad name is invalid", apierrors.IsInvalid(err), true)
	_, err = client.CoreV1().ConfigMaps("nowhere-at-all").Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
	equal(t, "a missing namespace is not found", apierrors.IsNotFound(err), true)

	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: space, Verb: "delete", Resource: "secrets"},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "an administrator may", review.Status.Allowed, true)

	config.Impersonate.UserName = "nobody-in-particular"
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Secrets(space).List(t.Context(), metav1.ListOptions{})
	equal(t, "nobody may not", apierrors.IsForbidden(err), true)
}
