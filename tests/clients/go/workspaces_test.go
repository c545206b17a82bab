package clients

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ours skips what only Hanse has when another server is tried.
func ours(t *testing.T) *rest.Config {
	t.Helper()
	config, _ := config(t)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	must(t, err)
	version, err := client.ServerVersion()
	must(t, err)
	if !strings.Contains(version.GitVersion, "+hanse.") {
		t.Skipf("%s has no workspaces", version.GitVersion)
	}
	return config
}

// in is the same server, seen from a workspace.
func in(config *rest.Config, path string) *rest.Config {
	inside := rest.CopyConfig(config)
	inside.Host += "/clusters/" + path
	return inside
}

var workspaces = schema.GroupVersionResource{Group: "tenancy.kcp.io", Version: "v1alpha1", Resource: "workspaces"}

// makeWorkspace makes one below root that is gone when the test is over.
func makeWorkspace(t *testing.T, config *rest.Config, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(in(config, "root"))
	must(t, err)
	ctx := context.Background()
	made, err := client.Resource(workspaces).Create(ctx, object("tenancy.kcp.io/v1alpha1", "Workspace", name, nil), metav1.CreateOptions{})
	must(t, err)
	status, _ := made.Object["status"].(map[string]any)
	if status["phase"] != "Ready" {
		t.Fatalf("a new workspace is %v", status)
	}
	t.Cleanup(func() {
		must(t, client.Resource(workspaces).Delete(ctx, name, metav1.DeleteOptions{}))
		must(t, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			_, err := client.Resource(workspaces).Get(ctx, name, metav1.GetOptions{})
			return errors.IsNotFound(err), nil
		}))
	})
}

func TestWorkspacesDoNotSeeEachOther(t *testing.T) {
	config, ctx := ours(t), context.Background()
	makeWorkspace(t, config, "one")
	makeWorkspace(t, config, "two")
	one, two := kubernetes.NewForConfigOrDie(in(config, "root:one")), kubernetes.NewForConfigOrDie(in(config, "root:two"))
	for client, value := range map[*kubernetes.Clientset]string{one: "1", two: "2"} {
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("x", map[string]string{"v": value}), metav1.CreateOptions{})
		must(t, err)
	}
	for client, value := range map[*kubernetes.Clientset]string{one: "1", two: "2"} {
		list, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=x"})
		must(t, err)
		equal(t, "config maps", len(list.Items), 1)
		equal(t, "value", list.Items[0].Data["v"], value)
	}
	_, err := kubernetes.NewForConfigOrDie(in(config, "root:three")).CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Fatalf("a workspace that is not there: %v", err)
	}
}

func TestKubectlWorkspaceThatCannotGoSaysWhy(t *testing.T) {
	config := ours(t)
	k := newKubectl(t)
	root, stuck := "--server="+in(config, "root").Host, "--server="+in(config, "root:stuck").Host
	k.pipes("apiVersion: tenancy.kcp.io/v1alpha1\nkind: Workspace\nmetadata: { name: stuck }\n", "stuck created", "create", root, "-f", "-")
	k.does("organization", "get", root, "workspaces", "stuck")
	k.pipes("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: held, namespace: default, finalizers: [example.com/held] }\n",
		"held created", "create", stuck, "--namespace=default", "-f", "-")
	k.does("deleted", "delete", root, "workspace", "stuck", "--wait=false")
	k.does("condition met", "wait", root, "workspace/stuck", "--for=condition=WorkspaceContentDeleted=false", "--timeout=30s")
	k.does("configmaps default/held (example.com/held)", "get", root, "workspace", "stuck", "-o", "yaml")
	k.does("patched", "patch", stuck, "--namespace=default", "configmap", "held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	k.does("", "wait", root, "workspace/stuck", "--for=delete", "--timeout=30s")
	k.refuses("not found", "get", root, "workspace", "stuck")
}

func TestKubectlRolesDecide(t *testing.T) {
	k := newKubectl(t)
	// kubectl fails when the answer is no.
	k.refuses("no", "auth", "can-i", "list", "secrets", "--as=eve")
	k.does("created", "create", "role", "reader", "--verb=get,list", "--resource=secrets", "--resource-name=one")
	k.does("created", "create", "rolebinding", "reads", "--role=reader", "--user=eve")
	k.does("yes", "auth", "can-i", "get", "secret/one", "--as=eve")
	k.refuses("no", "auth", "can-i", "get", "secret/two", "--as=eve")
	k.refuses(`User "eve" cannot list resource "secrets"`, "get", "secrets", "--as=eve")
	k.does("created", "create", "rolebinding", "edits", "--clusterrole=edit", "--group=writers")
	k.does("created", "create", "configmap", "x", "--as=ada", "--as-group=writers")
	k.does("created", "create", "rolebinding", "grants", "--clusterrole=admin", "--group=granters")
	k.refuses("attempting to grant RBAC permissions not currently held", "create", "role", "all", "--verb=*", "--resource=*", "--as=ada", "--as-group=granters")
}

func TestKubectlTokensOfAccountsAreRecognised(t *testing.T) {
	k := newKubectl(t)
	token := strings.TrimSpace(k.does("", "create", "token", "default"))
	kubeconfig := filepath.Join(k.dir, "token.kubeconfig")
	must(t, os.WriteFile(kubeconfig, nil, 0o600))
	config, _ := config(t)
	server := []string{"--kubeconfig=" + kubeconfig, "--server=" + config.Host, "--insecure-skip-tls-verify", "--token=" + token}
	as := func(args ...string) []string { return append(args, server...) }
	k.does("system:serviceaccount:"+k.namespace+":default", as("auth", "whoami")...)
	k.refuses("cannot list resource", as("get", "configmaps")...)
	k.does("created", "create", "rolebinding", "reads", "--clusterrole=view", "--serviceaccount="+k.namespace+":default")
	k.does("kube-root-ca.crt", as("get", "configmaps")...)
	k.refuses("cannot create resource", as("create", "configmap", "x")...)
	k.refuses("cannot list resource", as("get", "secrets")...)
}
