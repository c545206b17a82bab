// Writes what Kubernetes makes of the answers of webhooks, of their patches, denials and conversions, and which requests their rules mean:
// one JSON object a line.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	registration "k8s.io/api/admissionregistration/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	hookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
)

const path = "../../src/hooks/tests/vectors.jsonl"

func main() {
	var out bytes.Buffer
	writeAnswers(&out)
	writePatches(&out)
	writeDenials(&out)
	writeConversions(&out)
	writeRuns(&out, rand.New(rand.NewPCG(1, 2)))
	writeRules(&out, rand.New(rand.NewPCG(1, 1)))
	must(os.WriteFile(path, out.Bytes(), 0o644))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// line prints one vector, with characters as they are.
func line(out io.Writer, vector map[string]any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(vector))
}

func writePatches(out io.Writer) {
	for _, patch := range []string{
		"{", "{}", "[1]", `""`, "[", "null", "[null]", "5", "true", "[{}]", `[{"op":5}]`, `[{"op":"add","path":"/a"}]`, "[] x", "x", "[]", "[{},[]]", `[{"op":"x","path":"/b"}]`,
		`[{"op":"remove","path":"/c"}]`, `[{"op":"test","path":"/b","value":2}]`, `{"a" 1}`, `[1 2]`, `{"a":1 "b"}`,
	} {
		operations, err := jsonpatch.DecodePatch([]byte(patch))
		vector := map[string]any{"patch": patch}
		if err != nil {
			vector["undecodable"] = err.Error()
		} else if len(operations) > 0 {
			if _, err := operations.Apply([]byte(`{"b":1}`)); err != nil {
				vector["unfit"] = err.Error()
			}
		}
		line(out, vector)
	}
}

func writeDenials(out io.Writer) {
	for _, text := range []string{
		`null`, `{}`, `{"code":200}`, `{"code":399}`, `{"code":400}`, `{"code":451,"message":"no"}`, `{"code":599}`, `{"code":-5}`, `{"status":"Success","message":"fine"}`, `{"reason":"Forbidden"}`,
		`{"reason":"Forbidden","message":"no","code":403}`, `{"message":"quote \"it\""}`, `{"reason":"Own","details":{"name":"n","group":"g","kind":"k","uid":"u"}}`,
		`{"details":{"causes":[{"reason":"FieldValueInvalid","message":"m","field":"f"},{"message":"x"}],"retryAfterSeconds":5}}`, `{"metadata":{},"status":"Failure","message":"  spaces "}`,
	} {
		var status *meta.Status
		must(json.Unmarshal([]byte(text), &status))
		told := hookerrors.ToStatusErr("hook.example.com", status).Status()
		told.Kind, told.APIVersion = "Status", "v1"
		line(out, map[string]any{"denial": json.RawMessage(text), "told": told})
	}
}

// requests are operation, group, version, resource, subresource, namespace: those that a server has.
var requests = [][6]string{
	{"CREATE", "", "v1", "pods", "", "n"}, {"UPDATE", "", "v1", "pods", "status", "n"}, {"DELETE", "", "v1", "pods", "", "n"}, {"CONNECT", "", "v1", "pods", "exec", "n"},
	{"CREATE", "", "v1", "nodes", "", ""}, {"UPDATE", "", "v1", "nodes", "status", ""}, {"CREATE", "", "v1", "namespaces", "", "w"}, {"UPDATE", "", "v1", "namespaces", "finalize", "w"},
	{"CREATE", "apps", "v1", "deployments", "", "n"}, {"UPDATE", "apps", "v1", "deployments", "scale", "n"}, {"DELETE", "rbac.authorization.k8s.io", "v1", "clusterroles", "", ""},
	{"UPDATE", "autoscaling", "v2", "horizontalpodautoscalers", "", "n"},
}

func writeRules(out io.Writer, random *rand.Rand) {
	some := func(of ...string) []string {
		var found []string
		for range 1 + random.IntN(2) {
			found = append(found, of[random.IntN(len(of))])
		}
		return found
	}
	for range 400 {
		scope := registration.ScopeType([]string{"*", "*", "Namespaced", "Cluster"}[random.IntN(4)])
		rule := registration.RuleWithOperations{Rule: registration.Rule{
			APIGroups:   some("*", "*", "", "apps", "autoscaling"),
			APIVersions: some("*", "*", "v1", "v1", "v2"),
			Resources:   some("*", "*/*", "pods", "pods/*", "pods/status", "*/status", "*/scale", "nodes", "namespaces", "namespaces/*", "deployments", "deployments/scale", "*/exec"),
			Scope:       &scope,
		}}
		for _, operation := range some("*", "*", "CREATE", "UPDATE", "DELETE", "CONNECT") {
			rule.Operations = append(rule.Operations, registration.OperationType(operation))
		}
		meant := ""
		for _, r := range requests {
			resource := schema.GroupVersionResource{Group: r[1], Version: r[2], Resource: r[3]}
			attributes := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, r[5], "w", resource, r[4], admission.Operation(r[0]), nil, false, nil)
			matcher := rules.Matcher{Rule: rule, Attr: attributes}
			meant += map[bool]string{true: "1", false: "0"}[matcher.Matches()]
		}
		line(out, map[string]any{"rule": rule, "meant": meant})
	}
	var lines []string
	for _, r := range requests {
		at := strings.TrimPrefix(strings.Join(r[1:5], "/"), "/")
		name := strings.TrimPrefix(r[5]+"/w", "/")
		if r[3] == "namespaces" {
			name = "w"
		}
		lines = append(lines, r[0]+" "+strings.TrimSuffix(at, "/")+" "+name)
	}
	line(out, map[string]any{"requests": lines})
}
