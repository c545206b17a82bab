// Answers as a webhook may send them, and what the client of Kubernetes says to them.

package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"k8s.io/api/admission/v1"
	"k8s.io/api/admission/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

type answer struct {
	code        int
	contentType string
	body        string
}

const kind = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":`

// unexpected are answers that are none by their code.
var unexpected = []answer{
	{500, "text/plain", " oops\n"}, {500, "application/json", "{}"}, {404, "text/html", "<html>"}, {403, "text/html", "<html>oops</html>"}, {403, "application/json", "x"},
	{401, "text/plain", "x"}, {400, "text/plain", "x"}, {405, "text/plain", "x"}, {406, "text/plain", "x"}, {406, "a/b", "x"}, {409, "", "x"}, {410, "", "x"}, {413, "", "x"}, {415, "", "x"},
	{422, "", "x"}, {429, "", "x"}, {503, "", "x"}, {504, "", "x"}, {502, "text/html; charset=utf-8", "x\"yé"}, {304, "", ""},
	{500, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"said so"}`}, {500, "application/json", `{"kind":"Status","status":"Failure","message":"said so"}`},
	{500, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Success","message":"said so"}`}, {500, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure"}`},
	{200, "text/html", ""}, {200, "", ""}, {204, "", ""}, {200, "text/html", "<html>oops</html>"},
}

// bodies are answers of code 200.
var bodies = []string{
	"[]", `"x"`, `{"a":`, "null", "5", "true", "{} x", "{]", `{"a" 1}`, `{"a":1 "b"}`, `{"a":[1 2]}`, `{"a":x}`, "kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nresponse: {uid: U, allowed: true}\n",
	"{}", `{"response":null}`, `{"response":{"uid":"x"}}`, `{"response":{"uid":"U"}}`, `{"kind":"AdmissionReview","response":{"uid":"U"}}`, `{"apiVersion":"admission.k8s.io/v1","response":{"uid":"U"}}`,
	`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"U"}}`, `{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"AdmissionReview","apiVersion":"v1"}`, `{"kind":"Pod"}`,
	`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m"}`, `{"kind":"Status","apiVersion":"v1","status":"Success","message":"m"}`, `{"kind":5}`, `{"apiVersion":"a/b/c","kind":"X"}`,
	kind + `[]}`, kind + `{"uid":"U","allowed":"yes"}}`, kind + `{"uid":5,"allowed":true}}`, kind + `{"uid":"U","allowed":true,"patch":"a$b="}}`, kind + `{"uid":"U","allowed":true,"patch":"abc"}}`,
	kind + `{"uid":"U","allowed":true,"patch":"abcdef"}}`, kind + `{"uid":"U","allowed":true,"patch":5}}`, kind + `{"uid":"U","allowed":true,"patchType":5}}`, kind + `{"uid":"U","allowed":true,"warnings":"x"}}`,
	kind + `{"uid":"U","allowed":true,"warnings":[5]}}`, kind + `{"uid":"U","allowed":true,"warnings":[null]}}`, kind + `{"uid":"U","allowed":true,"auditAnnotations":{"a":5}}}`,
	kind + `{"uid":"U","allowed":true,"auditAnnotations":[]}}`, kind + `{"uid":"U","allowed":true,"status":"x"}}`, kind + `{"uid":"U","allowed":false,"status":{"code":"x"}}}`,
	kind + `{"uid":"U","allowed":false,"status":{"code":1.5}}}`, kind + `{"uid":"U","allowed":false,"status":{"message":5}}}`, kind + `{"uid":"U","allowed":false,"status":{"details":{"causes":5}}}}`,
	kind + `{"uid":"U","allowed":true,"patch":"W10="}}`, kind + `{"uid":"U","allowed":true,"patchType":"JSONPatch"}}`, kind + `{"uid":"U","allowed":true,"patch":"W10=","patchType":""}}`,
	kind + `{"uid":"U","allowed":true,"patch":"W10=","patchType":"JSONPatch"}}`, kind + `{"uid":"U","Allowed":true}}`, kind + `{"uid":"U","allowed":true,"unknown":1}}`,
}

// writeAnswers prints an answer, the version that was asked in, and what is said to it: nothing if it can be used.
func writeAnswers(out io.Writer) {
	answers := unexpected
	for _, body := range bodies {
		answers = append(answers, answer{200, "application/json", body})
	}
	var current answer
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if current.contentType != "" {
			w.Header().Set("Content-Type", current.contentType)
		}
		w.WriteHeader(current.code)
		_, _ = io.WriteString(w, current.body)
	}))
	defer server.Close()
	client := connected(server)
	for _, current = range answers {
		for _, version := range []string{"v1", "v1beta1"} {
			line(out, map[string]any{
				"code": current.code, "contentType": current.contentType, "answer": current.body, "version": version,
				"validating": said(client, version, false), "mutating": said(client, version, true),
			})
		}
	}
}

func connected(server *httptest.Server) *rest.RESTClient {
	clients, err := webhook.NewClientManager([]schema.GroupVersion{v1beta1.SchemeGroupVersion, v1.SchemeGroupVersion}, v1beta1.AddToScheme, v1.AddToScheme)
	must(err)
	resolver, err := webhook.NewDefaultAuthenticationInfoResolver("")
	must(err)
	clients.SetAuthenticationInfoResolver(resolver)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := clients.HookClient(webhook.ClientConfig{Name: "hook", URL: server.URL, CABundle: ca})
	must(err)
	return client
}

func said(client *rest.RESTClient, version string, mutating bool) string {
	var question, review runtime.Object = &v1.AdmissionReview{}, &v1.AdmissionReview{}
	if version == "v1beta1" {
		question, review = &v1beta1.AdmissionReview{}, &v1beta1.AdmissionReview{}
	}
	if err := client.Post().Body(question).Timeout(10 * time.Second).Do(context.Background()).Into(review); err != nil {
		return fmt.Sprintf("failed to call webhook: %v", err)
	}
	if _, err := request.VerifyAdmissionResponse("U", mutating, review); err != nil {
		return fmt.Sprintf("received invalid webhook response: %v", err)
	}
	return ""
}
