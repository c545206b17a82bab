// Writes what Kubernetes decides by roles and bindings: who may do what and why, who may give what to others, and who may
// act as whom. One JSON object a line.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sort"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/rbac"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	clusterroles "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased"
	clusterrolebindings "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/policybased"
	roles "k8s.io/kubernetes/pkg/registry/rbac/role/policybased"
	rolebindings "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	rbacauthorizer "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"sigs.k8s.io/yaml"
)

const path = "../../src/auth/tests/vectors.jsonl"

//go:embed policy.yaml
var policy string

func main() {
	var out bytes.Buffer
	world := read(&out)
	for _, who := range users {
		for _, what := range requests {
			world.decide(&out, who, what)
		}
	}
	for _, one := range grants() {
		world.grant(&out, one)
	}
	for _, one := range disguises() {
		world.disguise(&out, one)
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
func line(out *bytes.Buffer, vector any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(vector))
}

// world has the roles and bindings of the policy, in the order of their names.
type world struct {
	roles               []*rbacv1.Role
	bindings            []*rbacv1.RoleBinding
	clusterRoles        []*rbacv1.ClusterRole
	clusterRoleBindings []*rbacv1.ClusterRoleBinding
}

func read(out *bytes.Buffer) *world {
	w := &world{}
	var objects []json.RawMessage
	for _, text := range strings.Split(policy, "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(text))
		must(err)
		objects = append(objects, raw)
		switch object := decoded(string(raw)).(type) {
		case *rbacv1.Role:
			w.roles = append(w.roles, object)
		case *rbacv1.RoleBinding:
			w.bindings = append(w.bindings, object)
		case *rbacv1.ClusterRole:
			w.clusterRoles = append(w.clusterRoles, object)
		case *rbacv1.ClusterRoleBinding:
			w.clusterRoleBindings = append(w.clusterRoleBindings, object)
		}
	}
	sort.Slice(w.bindings, func(i, j int) bool { return w.bindings[i].Name < w.bindings[j].Name })
	sort.Slice(w.clusterRoleBindings, func(i, j int) bool { return w.clusterRoleBindings[i].Name < w.clusterRoleBindings[j].Name })
	line(out, map[string]any{"objects": objects})
	return w
}

func decoded(text string) runtime.Object {
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	must(err)
	return object
}

func (w *world) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	for _, role := range w.roles {
		if role.Namespace == namespace && role.Name == name {
			return role, nil
		}
	}
	return nil, errors.NewNotFound(rbacv1.Resource("role"), name)
}

func (w *world) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	for _, role := range w.clusterRoles {
		if role.Name == name {
			return role, nil
		}
	}
	return nil, errors.NewNotFound(rbacv1.Resource("clusterrole"), name)
}

func (w *world) ListRoleBindings(_ context.Context, namespace string) (found []*rbacv1.RoleBinding, _ error) {
	for _, binding := range w.bindings {
		if binding.Namespace == namespace {
			found = append(found, binding)
		}
	}
	return found, nil
}

func (w *world) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return w.clusterRoleBindings, nil
}

func (w *world) authorizer() authorizer.Authorizer {
	all, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "masters", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: rbacauthorizer.New(w, w, w, w)},
	)
	must(err)
	return all
}

func (w *world) resolver() validation.AuthorizationRuleResolver {
	return validation.NewDefaultRuleResolver(w, w, w, w)
}

func who(text string) *user.DefaultInfo {
	words := strings.Fields(text)
	return &user.DefaultInfo{Name: words[0], Groups: words[1:]}
}

func word(text string) string {
	if text == "-" {
		return ""
	}
	return text
}

func attributes(by user.Info, text string) authorizer.AttributesRecord {
	words := strings.Fields(text)
	if len(words) == 2 {
		return authorizer.AttributesRecord{User: by, Verb: words[0], Path: words[1]}
	}
	resource, subresource, _ := strings.Cut(words[2], "/")
	return authorizer.AttributesRecord{
		User: by, Verb: words[0], APIGroup: word(words[1]), Resource: resource, Subresource: subresource,
		Namespace: word(words[3]), Name: word(words[4]), ResourceRequest: true,
	}
}

func (w *world) decide(out *bytes.Buffer, by, text string) {
	decision, reason, err := w.authorizer().Authorize(context.Background(), attributes(who(by), text))
	must(err)
	line(out, map[string]any{"user": by, "decide": text, "allowed": decision == authorizer.DecisionAllow, "reason": reason})
}

// store keeps nothing, and has one old object.
type store struct {
	rest.StandardStorage
	old runtime.Object
}

func (s store) Create(_ context.Context, obj runtime.Object, _ rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	return obj, nil
}

func (s store) Update(ctx context.Context, _ string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc, _ rest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions) (runtime.Object, bool, error) {
	object, err := info.UpdatedObject(ctx, s.old)
	return object, false, err
}

type writer interface {
	rest.Creater
	rest.Updater
}

func internal(text string) runtime.Object {
	if text == "" {
		return nil
	}
	object, err := legacyscheme.Scheme.ConvertToVersion(decoded(text), rbac.SchemeGroupVersion)
	must(err)
	return object
}

func (w *world) grant(out *bytes.Buffer, one grant) {
	object := internal(one.object)
	below := store{old: internal(one.old)}
	info := request.RequestInfo{IsResourceRequest: true, APIGroup: rbac.GroupName}
	var door writer
	switch object := object.(type) {
	case *rbac.Role:
		info.Resource, info.Namespace = "roles", object.Namespace
		door = roles.NewStorage(below, w.authorizer(), w.resolver())
	case *rbac.ClusterRole:
		info.Resource = "clusterroles"
		door = clusterroles.NewStorage(below, w.authorizer(), w.resolver())
	case *rbac.RoleBinding:
		info.Resource, info.Namespace = "rolebindings", object.Namespace
		door = rolebindings.NewStorage(below, w.authorizer(), w.resolver())
	case *rbac.ClusterRoleBinding:
		info.Resource = "clusterrolebindings"
		door = clusterrolebindings.NewStorage(below, w.authorizer(), w.resolver())
	}
	if one.old != "" {
		info.Name = "x"
	}
	ctx := request.WithNamespace(request.WithUser(context.Background(), who(one.user)), info.Namespace)
	ctx = request.WithRequestInfo(ctx, &info)
	var err error
	if one.old == "" {
		_, err = door.Create(ctx, object, nil, nil)
	} else {
		_, _, err = door.Update(ctx, "x", rest.DefaultUpdatedObjectInfo(object), nil, nil, false, nil)
	}
	vector := map[string]any{"user": one.user, "grant": json.RawMessage(one.object), "refused": ""}
	if one.old != "" {
		vector["old"] = json.RawMessage(one.old)
	}
	if err != nil {
		vector["refused"] = err.Error()
	}
	line(out, vector)
}

func (w *world) disguise(out *bytes.Buffer, one disguise) {
	attr := attributes(who(one.user), one.request)
	info := request.RequestInfo{
		IsResourceRequest: attr.ResourceRequest, Path: attr.Path, Verb: attr.Verb, APIGroup: attr.APIGroup,
		Resource: attr.Resource, Subresource: attr.Subresource, Namespace: attr.Namespace, Name: attr.Name,
	}
	vector := map[string]any{"user": one.user, "disguise": one.headers, "request": one.request}
	inner := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		found, _ := request.UserFrom(r.Context())
		vector["became"] = map[string]any{"name": found.GetName(), "uid": found.GetUID(), "groups": found.GetGroups(), "extra": found.GetExtra()}
	})
	door := impersonation.WithConstrainedImpersonation(inner, w.authorizer(), legacyscheme.Codecs)
	r := httptest.NewRequest("GET", "/x", nil)
	for _, header := range one.headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	ctx := request.WithRequestInfo(request.WithUser(r.Context(), who(one.user)), &info)
	recorder := httptest.NewRecorder()
	door.ServeHTTP(recorder, r.WithContext(ctx))
	if recorder.Body.Len() > 0 {
		var status metav1.Status
		must(json.Unmarshal(recorder.Body.Bytes(), &status))
		vector["refused"], vector["code"] = status.Message, status.Code
	}
	line(out, vector)
}
