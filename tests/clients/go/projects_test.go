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

// TestKubectlPlatformKinds: a definition that is applied once, where projects are made, is served in each of them.
func TestKubectlPlatformKinds(t *testing.T) {
	host := ours(t).Host
	k := newKubectl(t)
	root := "--server=" + host
	definition := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.platform.example.com }
spec:
  group: platform.example.com
  scope: Namespaced
  names: { plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList, shortNames: [gdg] }
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{ name: Size, type: integer, jsonPath: .spec.size }]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What the platform says of a gadget.
            required: [size]
            properties: { size: { type: integer, maximum: 100 } }
`
	project := "apiVersion: resourcemanager.miloapis.com/v1alpha1\nkind: Project\nmetadata: { name: NAME }\nspec: { ownerRef: { kind: Organization, name: acme } }\n"
	k.pipes(strings.ReplaceAll(project, "NAME", "k-one"), "created", "apply", root, "-f", "-")
	k.pipes(definition, "created", "apply", root, "-f", "-")
	k.does("condition met", "wait", root, "--for=condition=Established", "crd/gadgets.platform.example.com", "--timeout=10s")
	k.pipes(strings.ReplaceAll(project, "NAME", "k-two"), "created", "apply", root, "-f", "-")

	gadget := "apiVersion: platform.example.com/v1\nkind: Gadget\nmetadata: { name: g, namespace: default }\nspec: { size: SIZE }\n"
	servers := map[string]string{}
	for name, size := range map[string]string{"k-one": "1", "k-two": "2"} {
		server := "--server=" + host + milo + "/projects/" + name + "/control-plane"
		servers[name] = server
		k.does("gadgets", "api-resources", server, "--api-group=platform.example.com")
		k.does("What the platform says of a gadget", "explain", server, "gadget.spec")
		k.pipes(strings.ReplaceAll(gadget, "SIZE", size), "created", "apply", server, "--namespace=default", "-f", "-")
		k.does(size, "get", server, "--namespace=default", "gdg", "g")
	}
	k.refuses("less than or equal to 100", "patch", servers["k-one"], "--namespace=default", "gadget", "g", "--type=merge", "-p", `{"spec":{"size":101}}`)
	k.does("No resources found", "get", root, "--all-namespaces", "gadgets")

	// What is asked for of all projects changes once, and what goes is gone from all of them.
	k.does("patched", "patch", root, "crd", "gadgets.platform.example.com", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum","value":1000}]`)
	k.does("patched", "patch", servers["k-one"], "--namespace=default", "gadget", "g", "--type=merge", "-p", `{"spec":{"size":101}}`)
	k.does("deleted", "delete", root, "crd", "gadgets.platform.example.com", "--timeout=30s")
	k.refuses("could not find the requested resource", "get", servers["k-two"], "--namespace=default", "gadgets")
	k.does("deleted", "delete", root, "project", "k-one", "k-two", "--timeout=30s")
}
