package clients

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kubectl is a shell in a namespace of its own.
type kubectl struct {
	t         *testing.T
	program   string
	namespace string
	dir       string
}

func newKubectl(t *testing.T) *kubectl {
	t.Helper()
	program := filepath.Join(os.Getenv("TOOLS"), "kubectl")
	if os.Getenv("TOOLS") == "" {
		program = "kubectl"
	}
	k := &kubectl{t: t, program: program, dir: t.TempDir()}
	k.namespace = "kubectl-" + strings.ToLower(strings.ReplaceAll(t.Name()[len("TestKubectl"):], "/", "-"))
	k.does("namespace/"+k.namespace+" created", "create", "namespace", k.namespace)
	t.Cleanup(func() { k.run("", "delete", "namespace", k.namespace, "--wait=false") })
	eventually(t, "the default account", func() (bool, error) {
		_, err := k.run("", "get", "serviceaccount", "default")
		return err == nil, nil
	})
	return k
}

func (k *kubectl) command(args ...string) *exec.Cmd {
	command := exec.Command(k.program, args...)
	says := func(arg string) bool { return strings.HasPrefix(arg, "--namespace=") }
	if makesNamespace := args[0] == "create" && args[1] == "namespace"; !makesNamespace && !slices.ContainsFunc(args, says) {
		command.Args = append(command.Args, "--namespace="+k.namespace)
	}
	// A cache of its own: what another server said yesterday is nobody's business.
	command.Env = append(os.Environ(), "KUBECACHEDIR="+k.dir, "KUBE_EDITOR=sed -i s/nginx:1/nginx:2/")
	return command
}

// run answers with everything that was printed.
func (k *kubectl) run(stdin string, args ...string) (string, error) {
	command := k.command(args...)
	command.Stdin = strings.NewReader(stdin)
	printed, err := command.CombinedOutput()
	return string(printed), err
}

// does runs a command that must work, and print this.
func (k *kubectl) does(want string, args ...string) string {
	k.t.Helper()
	return k.pipes("", want, args...)
}

func (k *kubectl) pipes(stdin, want string, args ...string) string {
	k.t.Helper()
	printed, err := k.run(stdin, args...)
	if err != nil || !strings.Contains(printed, want) {
		k.t.Fatalf("kubectl %s: %v\n%s\nwant %q", strings.Join(args, " "), err, printed, want)
	}
	return printed
}

// refuses runs a command that must fail, and say this.
func (k *kubectl) refuses(want string, args ...string) {
	k.t.Helper()
	printed, err := k.run("", args...)
	if err == nil || !strings.Contains(printed, want) {
		k.t.Fatalf("kubectl %s: %v\n%s\nwant a refusal: %q", strings.Join(args, " "), err, printed, want)
	}
}

func TestKubectlLifeOfADeployment(t *testing.T) {
	k := newKubectl(t)
	k.does("deployment.apps/web created", "create", "deployment", "web", "--image=nginx:1", "--replicas=2")
	k.refuses(`deployments.apps "web" already exists`, "create", "deployment", "web", "--image=nginx:1")
	wide := k.does("CONTAINERS", "get", "deployment", "web", "-o", "wide")
	for _, column := range []string{"0/2", "nginx:1", "app=web"} {
		if !strings.Contains(wide, column) {
			t.Fatalf("no %q in\n%s", column, wide)
		}
	}
	k.does("scaled", "scale", "deployment/web", "--replicas=5")
	k.does("condition met", "wait", "deployment/web", "--for=jsonpath={.spec.replicas}=5", "--timeout=10s")
	k.does("labeled", "label", "deployment/web", "tier=front")
	k.does("annotated", "annotate", "deployment/web", "note=mine")
	k.does("patched", "patch", "deployment/web", "-p", `{"spec":{"minReadySeconds":7}}`)
	k.does("edited", "edit", "deployment/web")
	k.does("nginx:2 7 front", "get", "deployment/web", "-o",
		"jsonpath={.spec.template.spec.containers[0].image} {.spec.minReadySeconds} {.metadata.labels.tier}")
	described := k.does("Replicas:", "describe", "deployment/web")
	if !strings.Contains(described, "5 desired") || !strings.Contains(described, "RollingUpdateStrategy:  25% max unavailable") {
		t.Fatal(described)
	}
	k.does("deleted", "delete", "deployment/web")
	k.refuses(`deployments.apps "web" not found`, "get", "deployment/web")
}

func TestKubectlApply(t *testing.T) {
	k := newKubectl(t)
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: one\n  gone: x\n"
	changed := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: two\n"
	k.pipes(manifest, "configmap/a created", "apply", "-f", "-")
	k.pipes(manifest, "configmap/a unchanged", "apply", "-f", "-")
	diff, err := k.run(changed, "diff", "-f", "-")
	if err == nil || !strings.Contains(diff, "-  k: one") || !strings.Contains(diff, "+  k: two") {
		t.Fatalf("diff: %v\n%s", err, diff)
	}
	k.pipes(changed, "configured", "apply", "-f", "-")
	k.does("map[k:two]", "get", "configmap", "a", "-o", "jsonpath={.data}", "--output=go-template={{.data}}")
	served := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  k: one\n"
	k.pipes(served, "configmap/b serverside-applied", "apply", "--server-side", "-f", "-")
	other := strings.Replace(served, "one", "two", 1)
	refused, err := k.run(other, "apply", "--server-side", "--field-manager=other", "-f", "-")
	if err == nil || !strings.Contains(refused, `conflict with "kubectl": .data.k`) {
		t.Fatalf("conflict: %v\n%s", err, refused)
	}
	k.pipes(other, "serverside-applied", "apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-")
	odd := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\nodd: 1\n"
	refused, err = k.run(odd, "create", "-f", "-")
	if err == nil || !strings.Contains(refused, `unknown field "odd"`) {
		t.Fatalf("unknown field: %v\n%s", err, refused)
	}
}

func TestKubectlKnowsTheServer(t *testing.T) {
	k := newKubectl(t)
	resources := k.does("deployments", "api-resources")
	for _, line := range []string{"configmaps", "cm", "horizontalpodautoscalers", "autoscaling/v2"} {
		if !strings.Contains(resources, line) {
			t.Fatalf("no %q in\n%s", line, resources)
		}
	}
	k.does("FIELD: strategy <DeploymentStrategy>", "explain", "deployment.spec.strategy")
	k.does("rollingUpdate", "explain", "deployment", "--recursive")
	k.does("Username", "auth", "whoami")
	k.does("yes", "auth", "can-i", "create", "pods")
	k.does("readyz check passed", "get", "--raw", "/readyz?verbose")
	k.does("Server Version: v1.", "version")
	token := k.does("ey", "create", "token", "default")
	equal(t, "parts of a token", strings.Count(token, "."), 2)
}

func TestKubectlWatches(t *testing.T) {
	k := newKubectl(t)
	watching := k.command("get", "configmaps", "--watch-only")
	printed, err := watching.StdoutPipe()
	must(t, err)
	var complaints bytes.Buffer
	watching.Stderr = &complaints
	must(t, watching.Start())
	defer func() { _ = watching.Process.Kill(); _ = watching.Wait() }()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(printed); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	// Until the watch has begun nobody can tell; each try is another object.
	seen := make(chan string, 1)
	go func() {
		for line := range lines {
			if strings.HasPrefix(line, "try-") {
				seen <- line
				return
			}
		}
	}()
	tries := 0
	eventually(t, "kubectl get --watch tells of a new object", func() (bool, error) {
		select {
		case <-seen:
			return true, nil
		default:
			tries++
			_, err := k.run("", "create", "configmap", "try-"+strings.Repeat("x", tries))
			return false, err
		}
	})
}

func TestKubectlNamespacesTakeTheirContentAlong(t *testing.T) {
	k := newKubectl(t)
	k.does("created", "create", "configmap", "inside")
	k.does("deleted", "delete", "namespace", k.namespace, "--timeout=30s")
	k.refuses("not found", "get", "namespace", k.namespace)
}
