package main

import (
	"encoding/json"
	"regexp"
	"testing"
)

func check(t *testing.T, report string, want string) {
	t.Helper()
	var suites []suite
	if err := json.Unmarshal([]byte(report), &suites); err != nil {
		t.Fatal(err)
	}
	if got := judge([]string{"a b [c]"}, suites).String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestJudge(t *testing.T) {
	check(t, `[{"RunTime": 2000000000, "SpecReports": [
		{"ContainerHierarchyTexts": ["a", ""], "LeafNodeType": "It", "LeafNodeText": "b [c]", "State": "passed"}]}]`,
		"conformance: 1 passed, 0 failed, 1 in all, in 2s\n")
	check(t, `[{"SpecReports": [{"LeafNodeType": "It", "LeafNodeText": "a b [c]", "State": "failed",
		"Failure": {"Message": "no\n pods", "Location": {"FileName": "x@v1/test/e2e/a.go", "LineNumber": 7}}}]}]`,
		"FAILED  a b [c]\n        failed at test/e2e/a.go:7: no pods\n"+
			"conformance: 0 passed, 1 failed, 1 in all, in 0s\n")
	check(t, `[{"SpecReports": [{"LeafNodeType": "It", "LeafNodeText": "other", "State": "passed"}]}]`,
		"FAILED  a b [c]\n        not in the suite\nconformance: 0 passed, 1 failed, 1 in all, in 0s\n")
	check(t, `[{"SpecReports": [
		{"LeafNodeType": "SynchronizedBeforeSuite", "State": "failed", "Failure": {"Message": "no server"}},
		{"LeafNodeType": "It", "LeafNodeText": "a b [c]", "State": "skipped"}]}]`,
		"SETUP   SynchronizedBeforeSuite failed at :0: no server\nFAILED  a b [c]\n        did not run\n"+
			"conformance: 0 passed, 1 failed, 1 in all, in 0s\n")
}

func TestFocusIsExact(t *testing.T) {
	matches := regexp.MustCompile(focus([]string{"a [b]", "c."})).MatchString
	for text, want := range map[string]bool{"suite a [b]": true, "suite c.": true, "suite a [b] d": false, "suite cd": false} {
		if matches(text) != want {
			t.Errorf("%q matched: %v", text, !want)
		}
	}
}
