package clients

import (
	"strings"
	"testing"
)

const milo = "/apis/resourcemanager.miloapis.com/v1alpha1"

// TestKubectlProjects: Datum's first two minutes, with plain kubectl and the paths that its own programs use.
func TestKubectlProjects(t *testing.T) {
	host := ours(t).Host
	k := newKubectl(t)
	root := "--server=" + host
	k.pipes("apiVersion: resourcemanager.miloapis.com/v1alpha1\nkind: Organization\nmetadata: { name: acme }\nspec: { type: Standard }\n",
		"acme created", "create", root, "-f", "-")
	project := "apiVersion: resourcemanager.miloapis.com/v1alpha1\nkind: Project\nmetadata: { name: NAME }\nspec: { ownerRef: { kind: Organization, name: OWNER } }\n"
	for name, owner := range map[string]string{"p-one": "acme", "p-two": "other"} {
		k.pipes(strings.NewReplacer("NAME", name, "OWNER", owner).Replace(project), name+" created", "apply", root, "-f", "-")
		k.does("condition met", "wait", root, "--for=condition=Ready", "project/"+name, "--timeout=5s")
	}
	one, two := "--server="+host+milo+"/projects/p-one/control-plane", "--server="+host+"/projects/p-two/control-plane"
	k.does("created", "create", one, "--namespace=default", "configmap", "x", "--from-literal=of=one")
	k.refuses("not found", "get", two, "--namespace=default", "configmap", "x")
	k.does("created", "create", two, "--namespace=default", "configmap", "x", "--from-literal=of=two")
	k.does("one", "get", one, "--namespace=default", "configmap", "x", "-o", "jsonpath={.data.of}")
	k.does("milo-system", "get", one, "namespaces")

	inAcme := "--server=" + host + milo + "/organizations/acme/control-plane"
	k.does("p-one", "get", inAcme, "projects")
	equal(t, "projects of the organization", k.does("", "get", inAcme, "projects", "-o", "name"),
		"project.resourcemanager.miloapis.com/p-one\n")
	k.does("deleted", "delete", one, "--namespace=default", "configmap", "x")
	k.does("x", "get", two, "--namespace=default", "configmaps")
	k.does("deleted", "delete", root, "project", "p-one", "p-two", "--timeout=30s")
	k.refuses("forbidden", "get", one, "namespaces")
	k.does("deleted", "delete", root, "organization", "acme")
}
