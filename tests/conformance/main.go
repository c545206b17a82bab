// Command conformance runs those of Kubernetes' own conformance tests that a file names against the server of a
// kubeconfig, and prints how many passed and which did not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

type options struct {
	names, skip, tools, report, kubeconfig string
	procs                                  int
	bare                                   bool
}

func main() {
	var o options
	flag.StringVar(&o.names, "names", "", "file with the full name of one test a line")
	flag.StringVar(&o.skip, "skip", "", "file with names of tests that count as failed without being run")
	flag.StringVar(&o.tools, "tools", "", "folder with ginkgo, e2e.test and kubectl")
	flag.StringVar(&o.report, "report", "", "folder for report.json and for the tests' own output")
	flag.IntVar(&o.procs, "procs", 6, "how many tests run at a time")
	flag.BoolVar(&o.bare, "bare", false, "the server has no controllers: expect no ServiceAccount in a new namespace")
	flag.Parse()
	o.kubeconfig = os.Getenv("KUBECONFIG")
	passed, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	if !passed {
		os.Exit(1)
	}
}

func run(o options) (bool, error) {
	if o.kubeconfig == "" {
		return false, fmt.Errorf("KUBECONFIG names no server")
	}
	names, err := readNames(o.names)
	if err != nil {
		return false, err
	}
	hopeless, err := readSkipped(o.skip)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(o.report, 0o755); err != nil {
		return false, err
	}
	report := filepath.Join(o.report, "report.json")
	// Yesterday's report must not be taken for today's.
	if err := os.Remove(report); err != nil && !os.IsNotExist(err) {
		return false, err
	}
	log := filepath.Join(o.report, "output.log")
	// Its exit code says no more than the report does.
	if ended := ginkgo(o, without(names, hopeless), log); ended != nil {
		fmt.Fprintf(os.Stderr, "conformance: ginkgo: %v; its output is in %s\n", ended, log)
	}
	suites, err := readReport(report)
	if err != nil {
		return false, fmt.Errorf("no report was written: %w", err)
	}
	verdict := judge(names, suites)
	fmt.Print(verdict)
	return len(verdict.failed) == 0, nil
}

// readSkipped answers with the tests that are not worth their time; lines that begin with # say why.
func readSkipped(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	lines, err := readNames(path)
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") }), err
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func readNames(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	names := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	if len(names) == 0 {
		return nil, fmt.Errorf("%s names no test", path)
	}
	return names, nil
}

// focus matches the names and nothing else: the suite puts its own name before each of them.
func focus(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return "(" + strings.Join(quoted, "|") + ")$"
}

func ginkgo(o options, names []string, log string) error {
	output, err := os.Create(log)
	if err != nil {
		return err
	}
	defer output.Close()
	stopped, forget := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer forget()
	command := exec.CommandContext(stopped, filepath.Join(o.tools, "ginkgo"), append([]string{
		"run", "--no-color", "-v", "--procs=" + strconv.Itoa(o.procs), "--timeout=20m",
		"--output-dir=" + o.report, "--json-report=report.json", "--focus=" + focus(names),
		filepath.Join(o.tools, "e2e.test"), "--",
	}, suiteFlags(o)...)...)
	// As from a terminal: the programs that run the tests do not hear from ginkgo that it was interrupted.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.Stdout, command.Stderr = output, output
	return command.Run()
}

// suiteFlags let the suite do without nodes: their number is given, and nothing waits for them or for pods.
func suiteFlags(o options) []string {
	return []string{
		"--kubeconfig=" + o.kubeconfig,
		"--kubectl-path=" + filepath.Join(o.tools, "kubectl"),
		"--provider=skeleton",
		"--num-nodes=0",
		"--allowed-not-ready-nodes=-1",
		"--minStartupPods=-1",
		"--e2e-verify-service-account=" + strconv.FormatBool(!o.bare),
		"--dump-logs-on-failure=false",
		"--disable-log-dump",
	}
}
