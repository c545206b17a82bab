// Answers of conversion webhooks, and what Kubernetes makes of them.

package main

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
)

const (
	one   = `{"apiVersion":"g/v1","kind":"Thing","metadata":{"name":"x","uid":"u","labels":{"a":"1"},"finalizers":["f"]},"spec":1}`
	other = `{"apiVersion":"g/v1","kind":"Thing","metadata":{"name":"y","uid":"v"}}`
	done  = `{"apiVersion":"g/v2","kind":"Thing","metadata":{"name":"z","uid":"w"}}`
)

// reviewed is a review with these objects, as it should be.
func reviewed(objects string) string {
	return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/$VERSION","response":{"uid":"$UID","result":{"status":"Success"},"convertedObjects":[` + objects + `]}}`
}

// thing is one converted object.
func thing(metadata string) string {
	return `{"apiVersion":"g/v2","kind":"Thing","metadata":` + metadata + `,"spec":2}`
}

var oneConverted = []string{
	reviewed(thing(`{"name":"x","uid":"u"}`)), reviewed(thing(`{"name":"x","uid":"u","labels":{"a":"1"}}`)), reviewed(thing(`{"name":"x","uid":"u","labels":null,"annotations":{"b":"2"},"finalizers":["g"]}`)),
	reviewed(""), reviewed(thing(`{"name":"x","uid":"u"}`) + "," + thing(`{"name":"x","uid":"u"}`)), reviewed(thing(`{"name":"y","uid":"u"}`)), reviewed(thing(`{"name":"x","uid":"u","namespace":"n"}`)),
	reviewed(thing(`{"name":"x"}`)), reviewed(`{"apiVersion":"g/v2","kind":"Thing"}`), reviewed(`{"apiVersion":"g/v1","kind":"Thing"}`), reviewed(`{"apiVersion":"g/v2","kind":"Other"}`), reviewed(one),
	reviewed(thing(`{"name":"x","uid":"u","labels":[]}`)), reviewed(thing(`{"name":"x","uid":"u","labels":{"a":1}}`)), reviewed(thing(`{"name":"x","uid":"u","labels":{"a":"-"}}`)),
	reviewed(thing(`{"name":"x","uid":"u","labels":{"/":"-"}}`)), reviewed(thing(`{"name":"x","uid":"u","annotations":{"-":"x"}}`)), reviewed(thing(`{"name":"x","uid":"u","annotations":{"UPPER":"x"}}`)),
	reviewed(thing(`{"name":"x","uid":"u","annotations":5}`)), reviewed(thing(`{"name":"x","uid":"u","annotations":{"a":null}}`)), reviewed(thing(`{"name":"x","uid":"u","annotations":{"a":1.5}}`)),
	`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/$VERSION"}`, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/$VERSION","response":{"uid":"other"}}`,
	`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/$VERSION","response":{"uid":"$UID"}}`, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/$VERSION","response":{"uid":"$UID","result":{"status":"Failure","message":"no"}}}`,
	`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/$VERSION","response":{"uid":"$UID","result":{"status":"Success"}}}`, `{"response":{"uid":"$UID","result":{"status":"Success"},"convertedObjects":[]}}`,
	`{"kind":"ConversionReview","response":{"uid":"$UID","result":{"status":"Success"}}}`,
}

var manyConverted = []string{
	reviewed(thing(`{"name":"x","uid":"u"}`) + "," + thing(`{"name":"y","uid":"v"}`)), reviewed(thing(`{"name":"x","uid":"u"}`)), reviewed(thing(`{"name":"x","uid":"u"}`) + "," + thing(`{"name":"x","uid":"v"}`)),
	reviewed(thing(`{"name":"x","uid":"u"}`) + "," + one), reviewed(thing(`{"name":"x","uid":"u"}`) + `,{"apiVersion":"g/v2","kind":"Other"}`), reviewed(thing(`{"name":"x","uid":"u","labels":5}`) + "," + other),
	`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/$VERSION"}`,
}

// writeConversions prints objects, what was answered, and what comes of it: the objects, or why not.
func writeConversions(out io.Writer) {
	var current string
	var uid string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review extensions.ConversionReview
		must(json.NewDecoder(r.Body).Decode(&review))
		uid = string(review.Request.UID)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(current, "$UID", uid))
	}))
	defer server.Close()
	for _, version := range []string{"v1", "v1beta1"} {
		convertor := converter(server, version)
		for _, text := range oneConverted {
			current = strings.ReplaceAll(text, "$VERSION", version)
			object := &unstructured.Unstructured{}
			must(object.UnmarshalJSON([]byte(one)))
			converted, err := convertor.ConvertToVersion(object, schema.GroupVersion{Group: "g", Version: "v2"})
			var found []any
			if err == nil {
				found = []any{converted}
			}
			conversionLine(out, version, []string{one}, current, uid, found, err)
		}
		for _, text := range manyConverted {
			current = strings.ReplaceAll(text, "$VERSION", version)
			list := &unstructured.UnstructuredList{}
			must(list.UnmarshalJSON([]byte(`{"apiVersion":"g/v2","kind":"ThingList","items":[` + one + "," + done + "," + other + `]}`)))
			converted, err := convertor.ConvertToVersion(list, schema.GroupVersion{Group: "g", Version: "v2"})
			var found []any
			if err == nil {
				for _, item := range converted.(*unstructured.UnstructuredList).Items {
					found = append(found, &item)
				}
			}
			conversionLine(out, version, []string{one, done, other}, current, uid, found, err)
		}
	}
}

func conversionLine(out io.Writer, version string, objects []string, answered, uid string, converted []any, err error) {
	vector := map[string]any{"conversion": json.RawMessage("[" + strings.Join(objects, ",") + "]"), "version": version, "answered": strings.ReplaceAll(answered, "$UID", "U")}
	if err != nil {
		vector["error"] = strings.ReplaceAll(err.Error(), uid, "U")
	} else {
		vector["converted"] = converted
	}
	line(out, vector)
}

func converter(server *httptest.Server, version string) runtime.ObjectConvertor {
	factory, err := conversion.NewCRConverterFactory(webhook.NewDefaultServiceResolver(), nil)
	must(err)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	url := server.URL
	definition := &extensions.CustomResourceDefinition{}
	definition.Name = "things.g"
	definition.Spec.Group = "g"
	definition.Spec.Versions = []extensions.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2"}}
	definition.Spec.Conversion = &extensions.CustomResourceConversion{
		Strategy: extensions.WebhookConverter,
		Webhook:  &extensions.WebhookConversion{ClientConfig: &extensions.WebhookClientConfig{URL: &url, CABundle: ca}, ConversionReviewVersions: []string{version}},
	}
	safe, _, err := factory.NewConverter(definition)
	must(err)
	return safe
}
