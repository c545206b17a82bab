package clients

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const gaugeGroup = "envtest.clients.example"

func pointer[T any](to T) *T { return &to }

func gaugeDefinition() *apiextensionsv1.CustomResourceDefinition {
	integer := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	spec := apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"reading": integer, "unit": text},
	}
	root := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gauges." + gaugeGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gaugeGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gauges", Kind: "Gauge"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
			}},
		},
	}
}

// asked is a webhook for gauges, reached at a path; envtest fills in where.
func asked(path string) (admissionregistrationv1.WebhookClientConfig, []admissionregistrationv1.RuleWithOperations) {
	service := &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "webhooks", Path: &path}
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{gaugeGroup}, APIVersions: []string{"v1"}, Resources: []string{"gauges"},
		},
	}
	return admissionregistrationv1.WebhookClientConfig{Service: service}, []admissionregistrationv1.RuleWithOperations{rule}
}

func gaugeWebhooks() envtest.WebhookInstallOptions {
	none := pointer(admissionregistrationv1.SideEffectClassNone)
	mutate, rules := asked("/unit")
	validate, _ := asked("/reading")
	return envtest.WebhookInstallOptions{
		LocalServingHost: "127.0.0.1",
		MutatingWebhooks: []*admissionregistrationv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "gauges." + gaugeGroup},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "unit." + gaugeGroup, ClientConfig: mutate, Rules: rules, SideEffects: none,
				AdmissionReviewVersions: []string{"v1"},
			}},
		}},
		ValidatingWebhooks: []*admissionregistrationv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "gauges." + gaugeGroup},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "reading." + gaugeGroup, ClientConfig: validate, Rules: rules, SideEffects: none,
				AdmissionReviewVersions: []string{"v1"},
			}},
		}},
	}
}

// unit fills in what a gauge does not say of its unit.
func unit(_ context.Context, request admission.Request) admission.Response {
	var gauge unstructured.Unstructured
	if err := gauge.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if _, said, _ := unstructured.NestedString(gauge.Object, "spec", "unit"); said {
		return admission.Allowed("")
	}
	if err := unstructured.SetNestedField(gauge.Object, "bar", "spec", "unit"); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	changed, err := json.Marshal(gauge.Object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

// reading refuses gauges that show less than nothing.
func reading(_ context.Context, request admission.Request) admission.Response {
	var gauge unstructured.Unstructured
	if err := gauge.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if shown, _, _ := unstructured.NestedInt64(gauge.Object, "spec", "reading"); shown < 0 {
		return admission.Denied("less than nothing")
	}
	return admission.Allowed("").WithWarnings("looked at")
}

func serveWebhooks(t *testing.T, environment *envtest.Environment) {
	t.Helper()
	installed := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(environment.Config, ctrl.Options{
		Metrics: metrics.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: installed.LocalServingHost, Port: installed.LocalServingPort, CertDir: installed.LocalServingCertDir,
		}),
	})
	must(t, err)
	server := manager.GetWebhookServer()
	server.Register("/unit", &admission.Webhook{Handler: admission.HandlerFunc(unit)})
	server.Register("/reading", &admission.Webhook{Handler: admission.HandlerFunc(reading)})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	eventually(t, "webhooks are served", func() (bool, error) { return server.StartedChecker()(nil) == nil, nil })
}

func TestEnvtestInstallsDefinitionsAndWebhooks(t *testing.T) {
	config, _ := config(t)
	environment := &envtest.Environment{
		UseExistingCluster: pointer(true), Config: config,
		CRDInstallOptions: envtest.CRDInstallOptions{
			CRDs: []*apiextensionsv1.CustomResourceDefinition{gaugeDefinition()}, CleanUpAfterUse: true,
		},
		WebhookInstallOptions: gaugeWebhooks(),
	}
	_, err := environment.Start()
	must(t, err)
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	serveWebhooks(t, environment)

	space := namespace(t)
	cluster, err := client.New(environment.Config, client.Options{})
	must(t, err)
	gauge := func(name string, spec map[string]any) *unstructured.Unstructured {
		made := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		made.SetGroupVersionKind(schema.GroupVersionKind{Group: gaugeGroup, Version: "v1", Kind: "Gauge"})
		made.SetName(name)
		made.SetNamespace(space)
		return made
	}
	made := gauge("one", map[string]any{"reading": int64(3)})
	must(t, cluster.Create(t.Context(), made))
	filled, _, _ := unstructured.NestedString(made.Object, "spec", "unit")
	equal(t, "unit", filled, "bar")

	err = cluster.Create(t.Context(), gauge("two", map[string]any{"reading": int64(-1)}))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "less than nothing") {
		t.Fatalf("what is refused: %v", err)
	}
	must(t, unstructured.SetNestedField(made.Object, int64(-5), "spec", "reading"))
	if err := cluster.Update(t.Context(), made); !apierrors.IsForbidden(err) {
		t.Fatalf("what is refused later: %v", err)
	}
	must(t, cluster.Delete(t.Context(), made))
}
