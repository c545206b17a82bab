// Package helm drives the server of $KUBECONFIG with Helm itself: a chart with a definition and objects of it is
// installed, changed, brought back and taken away.
package helm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shell runs helm and kubectl in a namespace.
type shell struct {
	t         *testing.T
	namespace string
	home      string
	// Where the server is, if not where the kubeconfig says.
	server string
}

func (s *shell) run(program []string, args ...string) (string, error) {
	args = append(append([]string{}, args...), "--namespace="+s.namespace)
	if s.server != "" && program[0] == helm[0] {
		args = append(args, "--kube-apiserver="+s.server)
	} else if s.server != "" {
		args = append(args, "--server="+s.server)
	}
	command := exec.Command(program[0], append(append([]string{}, program[1:]...), args...)...)
	// What another server said yesterday is nobody's business.
	command.Env = append(os.Environ(), "KUBECACHEDIR="+s.home, "HELM_CACHE_HOME="+s.home, "HELM_DATA_HOME="+s.home,
		"HELM_CONFIG_HOME="+s.home)
	printed, err := command.CombinedOutput()
	return string(printed), err
}

// does runs a command that must work, and print this.
func (s *shell) does(program []string, want string, args ...string) {
	s.t.Helper()
	printed, err := s.run(program, args...)
	if err != nil || !strings.Contains(printed, want) {
		s.t.Fatalf("%s: %v\n%s\nwant %q", strings.Join(args, " "), err, printed, want)
	}
}

// refuses runs a command that must fail, and say this.
func (s *shell) refuses(program []string, want string, args ...string) {
	s.t.Helper()
	printed, err := s.run(program, args...)
	if err == nil || !strings.Contains(printed, want) {
		s.t.Fatalf("%s: %v\n%s\nwant a refusal: %q", strings.Join(args, " "), err, printed, want)
	}
}

var helm = []string{"go", "tool", "helm"}

func kubectl() []string {
	if tools := os.Getenv("TOOLS"); tools != "" {
		return []string{filepath.Join(tools, "kubectl")}
	}
	return []string{"kubectl"}
}

func TestAChartComesChangesAndGoes(t *testing.T) {
	if os.Getenv("KUBECONFIG") == "" {
		t.Fatal("KUBECONFIG names no server")
	}
	for _, way := range []string{"true", "false"} {
		t.Run("server-side="+way, func(t *testing.T) { life(t, "", "--server-side="+way) })
	}
}

// TestAChartInAWorkspace: the same, by the path of a workspace that is in another.
func TestAChartInAWorkspace(t *testing.T) {
	s := &shell{t: t, namespace: "default", home: t.TempDir()}
	address, err := s.run(kubectl(), "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
	if err != nil {
		t.Fatal(address)
	}
	host, _, _ := strings.Cut(address, "/clusters/")
	if _, err := s.run(kubectl(), "get", "--raw", "/apis/tenancy.kcp.io"); err != nil {
		t.Skip("the server has no workspaces")
	}
	path := "root"
	for _, name := range []string{"helm-a", "b"} {
		s.server = host + "/clusters/" + path
		file := filepath.Join(t.TempDir(), "workspace.yaml")
		made := "apiVersion: tenancy.kcp.io/v1alpha1\nkind: Workspace\nmetadata: { name: " + name + " }\n"
		if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
		s.does(kubectl(), "created", "create", "-f", file)
		path += ":" + name
	}
	life(t, host+"/clusters/"+path, "--server-side=true")
	s.server = host + "/clusters/root"
	s.does(kubectl(), "deleted", "delete", "workspace", "helm-a", "--timeout=60s")
}

// life is that of a release; what is known of the definition outlives it.
func life(t *testing.T, server, way string) {
	s := &shell{t: t, namespace: "helm-" + strings.TrimPrefix(way, "--server-side="), home: t.TempDir(), server: server}
	kubectl := kubectl()
	spec := func(want string) {
		t.Helper()
		s.does(kubectl, want, "get", "widget", "w", "-o", "jsonpath={.spec.size} {.spec.color} {.spec.parts[*].name}")
	}
	s.does(helm, "STATUS: deployed", "install", "w", "chart", "--create-namespace", way)
	s.does(kubectl, "condition met", "wait", "crd/widgets.helm.clients.example", "--for=condition=established", "--timeout=30s")
	spec("3 blue first second")
	s.does(kubectl, "hello", "get", "configmap", "w", "-o", "jsonpath={.data.greeting}")
	s.does(kubectl, "1", "get", "configmap", "w-before", "-o", "jsonpath={.data.revision}")
	s.does(helm, "deployed", "list")
	s.refuses(helm, "cannot reuse a name", "install", "w", "chart")

	s.does(helm, "STATUS: deployed", "upgrade", "w", "chart", way, "--set", "size=5,greeting=servus,extra=false,replicas=4")
	spec("5 blue first")
	s.does(kubectl, "servus", "get", "configmap", "w", "-o", "jsonpath={.data.greeting}")
	s.does(kubectl, "4", "get", "deployment", "w", "-o", "jsonpath={.spec.replicas}")
	s.refuses(kubectl, "not found", "get", "secret", "w-extra")

	s.does(helm, "Rollback was a success", "rollback", "w", "1", way)
	spec("3 blue first second")
	s.does(kubectl, "w-extra", "get", "secret", "w-extra")
	s.refuses(helm, "should be less than or equal to 9", "upgrade", "w", "chart", way, "--set", "size=10")
	s.refuses(helm, "more parts than there is room for", "upgrade", "w", "chart", way, "--set", "size=1")
	s.does(helm, "uninstalled", "uninstall", "w")
	s.refuses(kubectl, "not found", "get", "widget", "w")
	s.does(kubectl, "widgets.helm.clients.example", "get", "crd", "widgets.helm.clients.example")
	s.does(kubectl, "deleted", "delete", "namespace", s.namespace, "--timeout=60s")
}
