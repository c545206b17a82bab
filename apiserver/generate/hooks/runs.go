// Mutating webhooks in a row, drawn at random: who is asked how often, and what becomes of the object.

package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	review "k8s.io/api/admission/v1"
	registration "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	hooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
	"k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
)

// paths say what is answered there; the Rust test has the same.
var paths = []string{"allow", "allow", "label-b", "label-b", "label-b", "label-c", "label-c", "unlabel-a", "unlabel-b", "unlabel-b", "nothing", "same", "broken", "deny", "deny-no"}

// hooks serves all paths, and remembers who was asked.
type hooks struct {
	mutex sync.Mutex
	asked []string
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	h.mutex.Lock()
	h.asked = append(h.asked, path)
	h.mutex.Unlock()
	var asked review.AdmissionReview
	must(json.NewDecoder(r.Body).Decode(&asked))
	response := &review.AdmissionResponse{UID: asked.Request.UID, Allowed: true}
	word, rest, _ := strings.Cut(path, "-")
	patch := ""
	switch word {
	case "deny":
		response.Allowed = false
		if rest != "" {
			response.Result = &meta.Status{Code: 403, Message: rest}
		}
	case "label":
		patch = `[{"op":"add","path":"/metadata/labels/` + rest + `","value":"yes"}]`
	case "unlabel":
		patch = `[{"op":"remove","path":"/metadata/labels/` + rest + `"}]`
	case "same":
		patch = `[{"op":"replace","path":"/metadata/labels/a","value":"1"}]`
	case "nothing":
		patch = `[]`
	case "broken":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is broken"}`)
		return
	}
	if patch != "" {
		kind := review.PatchTypeJSONPatch
		response.Patch, response.PatchType = []byte(patch), &kind
	}
	answer := review.AdmissionReview{TypeMeta: asked.TypeMeta, Response: response}
	must(json.NewEncoder(w).Encode(answer))
}

// noted keeps what is noted of a request.
type noted struct {
	admission.Attributes
	notes map[string]string
}

func (n *noted) AddAnnotation(key, value string) error {
	n.notes[key] = value
	return nil
}

func (n *noted) AddAnnotationWithLevel(key, value string, _ audit.Level) error {
	return n.AddAnnotation(key, value)
}

func writeRuns(out io.Writer, random *rand.Rand) {
	handler := &hooks{}
	server := httptest.NewTLSServer(handler)
	defer server.Close()
	for range 300 {
		var webhooks []registration.MutatingWebhook
		for range 1 + random.IntN(5) {
			webhooks = append(webhooks, drawn(server, random))
		}
		plugin := random.IntN(3) == 0
		handler.asked = []string{}
		labels, notes, err := run(webhooks, plugin)
		vector := map[string]any{"run": shown(webhooks), "plugin": plugin, "asked": handler.asked, "notes": notes}
		if err != nil {
			status := err.(errors.APIStatus).Status()
			vector["refused"] = map[string]any{"code": status.Code, "message": status.Message}
		} else {
			vector["labels"] = map[string]string{}
			if labels != nil {
				vector["labels"] = labels
			}
		}
		line(out, vector)
	}
}

// drawn is a webhook that wants everything, or some of it.
func drawn(server *httptest.Server, random *rand.Rand) registration.MutatingWebhook {
	path := paths[random.IntN(len(paths))]
	url := server.URL + "/" + path
	fail := []registration.FailurePolicyType{registration.Fail, registration.Ignore}[random.IntN(2)]
	again := []registration.ReinvocationPolicyType{registration.NeverReinvocationPolicy, registration.IfNeededReinvocationPolicy}[random.IntN(2)]
	equivalent, none := registration.Equivalent, registration.SideEffectClassNone
	selectors := []*meta.LabelSelector{{}, {}, {}, {MatchLabels: map[string]string{"b": "yes"}}, {MatchExpressions: []meta.LabelSelectorRequirement{{Key: "b", Operator: meta.LabelSelectorOpDoesNotExist}}}}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return registration.MutatingWebhook{
		Name: path + ".example.com", ClientConfig: registration.WebhookClientConfig{URL: &url, CABundle: ca},
		Rules: []registration.RuleWithOperations{{
			Operations: []registration.OperationType{"*"},
			Rule:       registration.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
		}},
		FailurePolicy: &fail, MatchPolicy: &equivalent, SideEffects: &none, ReinvocationPolicy: &again, AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector: &meta.LabelSelector{}, ObjectSelector: selectors[random.IntN(len(selectors))],
	}
}

// run asks them all about a pod, as the server does: once more if any changed it, after a plugin that may change it too.
func run(webhooks []registration.MutatingWebhook, plugin bool) (map[string]string, map[string]string, error) {
	stop := make(chan struct{})
	defer close(stop)
	admit, err := mutating.NewMutatingWebhook(nil)
	must(err)
	client, informers := hooktesting.NewFakeMutatingDataSource("n", webhooks, stop)
	admit.SetExternalKubeClientSet(client)
	admit.SetExternalKubeInformerFactory(informers)
	must(admit.ValidateInitialization())
	informers.Start(stop)
	informers.WaitForCacheSync(stop)
	pod := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "w", Namespace: "n", Labels: map[string]string{"a": "1"}}}
	kind := core.SchemeGroupVersion.WithKind("Pod")
	attributes := admission.NewAttributesRecord(pod, nil, kind, "n", "w", core.SchemeGroupVersion.WithResource("pods"), "", admission.Create, &meta.CreateOptions{}, false, &user.DefaultInfo{})
	record := &noted{attributes, map[string]string{}}
	interfaces := hooktesting.NewObjectInterfacesForTest()
	err = admit.Admit(context.Background(), record, interfaces)
	if again := record.GetReinvocationContext(); err == nil && again.ShouldReinvoke() {
		again.SetIsReinvoke()
		if plugin {
			pod.Annotations = map[string]string{"seen": "twice"}
		}
		err = admit.Admit(context.Background(), record, interfaces)
	}
	return pod.Labels, record.notes, err
}

// shown are the webhooks by that in which they differ.
func shown(webhooks []registration.MutatingWebhook) []map[string]any {
	var all []map[string]any
	for _, webhook := range webhooks {
		path, _, _ := strings.Cut(webhook.Name, ".")
		all = append(all, map[string]any{
			"path": path, "failurePolicy": webhook.FailurePolicy, "reinvocationPolicy": webhook.ReinvocationPolicy, "objectSelector": webhook.ObjectSelector,
		})
	}
	return all
}
