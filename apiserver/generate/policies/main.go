// Writes what Kubernetes makes of policies: what they decide, how they change objects, what is refused when they are
// written, and what their status tells of their types. One JSON object a line.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	internal "k8s.io/kubernetes/pkg/apis/admissionregistration"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	"k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

const path = "../../src/policy/tests/vectors.jsonl"

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
var deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

func main() {
	var out bytes.Buffer
	for _, one := range decisions {
		decide(&out, one)
	}
	for _, one := range mutations {
		mutate(&out, one)
	}
	for _, one := range written {
		write(&out, one)
	}
	for _, one := range typed {
		check(&out, one)
	}
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

func read(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		fmt.Fprintln(os.Stderr, text)
		must(err)
	}
}

// rules that every policy here has.
const constraints = `"failurePolicy":"Fail","matchConstraints":{"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},
"resourceRules":[{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"],"scope":"*"}]}`

func policy(kind, spec string) string {
	if !strings.Contains(spec, "failurePolicy") {
		spec = constraints + "," + spec
	}
	if kind == "MutatingAdmissionPolicy" && !strings.Contains(spec, "reinvocationPolicy") {
		spec += `,"reinvocationPolicy":"Never"`
	}
	return `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"p"},"spec":{` + spec + `}}`
}

type nobody struct{}

func (nobody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

func attributes(object, old runtime.Object) *admission.VersionedAttributes {
	who := &user.DefaultInfo{Name: "ann", UID: "7", Groups: []string{"dev", "system:authenticated"}}
	record := admission.NewAttributesRecord(object, old, deployment, "n", "web", deployments, "", admission.Create,
		&metav1.CreateOptions{TypeMeta: metav1.TypeMeta{Kind: "CreateOptions", APIVersion: "meta.k8s.io/v1"}}, false, who)
	return &admission.VersionedAttributes{
		Attributes: record, VersionedKind: deployment,
		VersionedObject: admission.NewLazyObject(object), VersionedOldObject: admission.NewLazyObject(old),
	}
}

func compiler() *plugincel.CompositedCompiler {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	must(err)
	return compiler
}

// accessors turns expressions into what the compiler takes.
func accessors[T any](items []T, of func(*T) plugincel.ExpressionAccessor) []plugincel.ExpressionAccessor {
	list := make([]plugincel.ExpressionAccessor, len(items))
	for i := range items {
		list[i] = of(&items[i])
	}
	return list
}

func decide(out io.Writer, one decision) {
	text := policy("ValidatingAdmissionPolicy", one.spec)
	var p registration.ValidatingAdmissionPolicy
	read(text, &p)
	var object apps.Deployment
	read(one.object, &object)
	stored := environment.StoredExpressions
	options := plugincel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	plain := plugincel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil}
	c := compiler()
	for _, v := range p.Spec.Variables {
		c.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, stored)
	}
	var matcher matchconditions.Matcher
	if len(p.Spec.MatchConditions) > 0 {
		conditions := accessors(p.Spec.MatchConditions, func(m *registration.MatchCondition) plugincel.ExpressionAccessor {
			return (*matchconditions.MatchCondition)(m)
		})
		matcher = matchconditions.NewMatcher(c.CompileCondition(conditions, options, stored), p.Spec.FailurePolicy, "policy", "validate", "p")
	}
	validations := accessors(p.Spec.Validations, func(v *registration.Validation) plugincel.ExpressionAccessor {
		return &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
	})
	messages := accessors(p.Spec.Validations, func(v *registration.Validation) plugincel.ExpressionAccessor {
		if v.MessageExpression == "" {
			return nil
		}
		return &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
	})
	notes := accessors(p.Spec.AuditAnnotations, func(a *registration.AuditAnnotation) plugincel.ExpressionAccessor {
		return &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression}
	})
	validator := validating.NewValidator(c.CompileCondition(validations, options, stored), matcher,
		c.CompileCondition(notes, options, stored), c.CompileCondition(messages, plain, stored), p.Spec.FailurePolicy, nil)
	var params runtime.Object
	if one.params != "" {
		var found core.ConfigMap
		read(one.params, &found)
		params = &found
	}
	namespace := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "8", Labels: map[string]string{"env": "prod"}}}
	result := validator.Validate(context.Background(), deployments, attributes(&object, nil), params, namespace,
		celconfig.RuntimeCELCostBudget, nobody{})
	found, published := []any{}, []any{}
	for _, d := range result.Decisions {
		found = append(found, map[string]any{"denies": d.Action == validating.ActionDeny, "message": d.Message, "reason": d.Reason})
	}
	for _, a := range result.AuditAnnotations {
		switch a.Action {
		case validating.AuditAnnotationActionPublish:
			published = append(published, map[string]any{"key": a.Key, "value": a.Value})
		case validating.AuditAnnotationActionError:
			published = append(published, map[string]any{"error": a.Error})
		}
	}
	line(out, map[string]any{
		"decide": tree(text), "object": unstructured(&object, deployment), "params": tree(one.params),
		"namespace": unstructured(namespace, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}),
		"decisions": found, "notes": published,
	})
}

func tree(text string) any {
	if text == "" {
		return nil
	}
	var found any
	read(text, &found)
	return found
}

func unstructured(object runtime.Object, kind schema.GroupVersionKind) any {
	found, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	must(err)
	found["apiVersion"], found["kind"] = kind.GroupVersion().String(), kind.Kind
	return found
}

func mutate(out io.Writer, one mutation) {
	part := map[bool]string{true: `"patchType":"JSONPatch","jsonPatch"`, false: `"patchType":"ApplyConfiguration","applyConfiguration"`}
	quoted, _ := json.Marshal(one.expression)
	text := policy("MutatingAdmissionPolicy", one.spec+`"mutations":[{`+part[one.patch]+`:{"expression":`+string(quoted)+`}}]`)
	var p registration.MutatingAdmissionPolicy
	read(text, &p)
	var object apps.Deployment
	read(one.object, &object)
	object.APIVersion, object.Kind = "apps/v1", "Deployment"
	before := unstructured(&object, deployment)
	options := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	c := compiler()
	for _, v := range p.Spec.Variables {
		c.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, environment.StoredExpressions)
	}
	options.HasPatchTypes = true
	var patcher patch.Patcher
	if one.patch {
		patcher = patch.NewJSONPatcher(c.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: one.expression}, options, environment.StoredExpressions))
	} else {
		patcher = patch.NewApplyConfigurationPatcher(c.CompileMutatingEvaluator(&patch.ApplyConfigurationCondition{Expression: one.expression}, options, environment.StoredExpressions))
	}
	var none runtime.Object
	patched, err := patcher.Patch(c.CreateContext(context.Background()), patch.Request{
		MatchedResource: deployments, VersionedAttributes: attributes(&object, none),
		ObjectInterfaces:  admission.NewObjectInterfacesFromScheme(clientscheme.Scheme),
		OptionalVariables: plugincel.OptionalVariableBindings{Authorizer: nobody{}},
		TypeConverter:     applyconfigurations.NewTypeConverter(clientscheme.Scheme),
	}, celconfig.RuntimeCELCostBudget)
	vector := map[string]any{"mutate": tree(text), "object": before}
	if err != nil {
		vector["error"] = err.Error()
	} else {
		vector["changed"] = unstructured(patched, deployment)
	}
	line(out, vector)
}

// write tells what is wrong with expressions; other errors are none of theirs.
func write(out io.Writer, text string) {
	found, _, err := legacyscheme.Codecs.UniversalDecoder(schema.GroupVersion{Group: internal.GroupName, Version: runtime.APIVersionInternal}).Decode([]byte(text), nil, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, text)
		must(err)
	}
	errors := []any{}
	switch found := found.(type) {
	case *internal.ValidatingAdmissionPolicy:
		for _, e := range validation.ValidateValidatingAdmissionPolicy(found) {
			errors = append(errors, e.Error())
		}
	case *internal.MutatingAdmissionPolicy:
		for _, e := range validation.ValidateMutatingAdmissionPolicy(found) {
			errors = append(errors, e.Error())
		}
	case *internal.ValidatingWebhookConfiguration:
		for _, e := range validation.ValidateValidatingWebhookConfiguration(found) {
			errors = append(errors, e.Error())
		}
	}
	line(out, map[string]any{"write": tree(text), "errors": errors})
}

var numbered = regexp.MustCompile(`([A-Z][a-zA-Z]*)[0-9]+\.`)

func check(out io.Writer, spec string) {
	text := policy("ValidatingAdmissionPolicy", spec)
	var p registration.ValidatingAdmissionPolicy
	read(text, &p)
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{deployment, {Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "Secret"}} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	checker := validating.TypeChecker{
		SchemaResolver: resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, clientscheme.Scheme),
		RestMapper:     mapper,
	}
	warnings := checker.Check(&p)
	if warnings == nil {
		warnings = []registration.ExpressionWarning{}
	}
	for i := range warnings {
		// Types are numbered by the clock.
		warnings[i].Warning = numbered.ReplaceAllString(warnings[i].Warning, "$1.")
	}
	line(out, map[string]any{"types": tree(text), "warnings": warnings})
}
