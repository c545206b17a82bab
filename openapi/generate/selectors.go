// Label and field selectors as written, what Go makes of them, and which of some objects they select.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// labelled are the labels of the objects that each selector is tried on; the Rust test has the same list.
var labelled = []labels.Set{
	nil, {"a": ""}, {"a": "b"}, {"a": "c", "b": "a"}, {"in": "notin", "notin": "in"}, {"a": "5", "x.y/a": "b"}, {"a": "-7", "b": "b"},
}

// writtenLabels are texts worth a look; many more are put together by chance.
var writtenLabels = []string{
	"", " ", ",", "a", "!a", "! a", "a,", ",a", "a,,b", "a b", "a=b", "a==b", "a!=b", "a = b", "a=", "a!=", "a==,b", "a in (b)", "a in(b)",
	"a in ()", "a in (,)", "a in (b,)", "a in (,b)", "a in (b,,c)", "a in (b c)", "a in b", "a in", "a in (", "a in (b", "a in (b,", "a notin (b,c,b)",
	"in in (in,notin)", "notin notin (in)", "in", "!in", "in=notin", "a>5", "a<5", "a > 5", "a>b", "a>-7", "a<-8", "a>", "a>=5", "!a=b", "!!a", "!",
	"a===b", "a=!b", "a=b=c", "a=(b)", "(a)", ")", "a)", "x.y/a=b", "/a", "x/", "x/y/z", "X/a", "-a", "a-", "a_b.c-d", "a=-b", "a=b-", "a=ü", "ü",
	"a\t=\r\nb", "a,b=a,c!=d,!e", "b=a,a=c", "a=c,a!=b", "a=\"b\"", "a:b", "a=b;c=d", "a=99999999999999999999", "a>99999999999999999999", "a>5,b", "a>5b",
	strings.Repeat("a", 63), strings.Repeat("a", 64), "a=" + strings.Repeat("b", 63), "a=" + strings.Repeat("b", 64), "a in (-," + strings.Repeat("-", 64) + ")",
	strings.Repeat("a", 254) + "/a", strings.Repeat("a.", 126) + "a/a", "a..b/c", "a.-b/c", "a=b,", "a=b,=", "a=b,(c)", "a!=b,!c,d notin (e)", "a!", "a!b", "a<>b",
}

var writtenFields = []string{
	"", ",", "a", "a=b", "a==b", "a!=b", "a=", "=", "=b", "!=", "a!b", "a!b=c", "a=b,c", "a=b,b!=a", "b=a,a=b", `a=\,`, `a=\=`, `a=\\`, `a=\x`, `a=\`, `a\,b=c`,
	"a=b=c", `a=b\=c`, "a===b", "a!==b", "a =b", "a= b", "metadata.name=x,metadata.namespace!=y", `a\=b`, `a=b\,c=d`, `a=ü\ü`, ",,a=b,,", `\,a=b`, "a=!b", "a=b,a=c", `\\,a=b`,
}

// writeSelectors prints: "label", "field" or "object", a text or object, the canonical form or "!" and the error, and a 0 or 1
// for each object of the list.
func writeSelectors(out io.Writer, seed uint64, count int) {
	f := &filler{random: rand.New(rand.NewPCG(seed, 4))}
	for _, text := range writtenLabels {
		writeLabels(out, text)
	}
	for _, text := range writtenFields {
		writeFields(out, text)
	}
	for range max(count, 250) {
		writeLabels(out, f.joined(8, "a", "a", "b", "in", "notin", " in ", " notin ", "(", ")", ",", ",", "!", "=", "==", "!=", "<", ">", " ", "5", "-", "x.y/a", "/"))
		if f.oneIn(2) {
			writeFields(out, f.joined(7, "a", "b", "=", "=", "==", "!=", "!", ",", ",", `\`, `\,`, `\=`, `\\`, " "))
		}
		if f.oneIn(3) {
			writeObject(out, f.labelSelector())
		}
	}
}

func (f *filler) joined(most int, from ...string) string {
	text := ""
	for range 1 + f.random.IntN(most) {
		text += pick(f, from...)
	}
	return text
}

func (f *filler) labelSelector() *meta.LabelSelector {
	selector := &meta.LabelSelector{}
	if f.oneIn(2) {
		selector.MatchLabels = map[string]string{pick(f, "a", "b", "-"): pick(f, "", "a", "b", "-")}
	}
	for range f.random.IntN(3) {
		one := meta.LabelSelectorRequirement{Key: pick(f, "a", "b", "x.y/a", "a", "/"), Operator: pick[meta.LabelSelectorOperator](f, "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt")}
		for range pick(f, 0, 0, 1, 1, 2, 3) {
			one.Values = append(one.Values, pick(f, "", "a", "b", "c", "5", "-"))
		}
		selector.MatchExpressions = append(selector.MatchExpressions, one)
	}
	return selector
}

func writeLabels(out io.Writer, text string) {
	selector, err := labels.Parse(text)
	writeSelector(out, "label", text, selector, err)
}

func writeObject(out io.Writer, object *meta.LabelSelector) {
	selector, err := meta.LabelSelectorAsSelector(object)
	writeSelector(out, "object", object, selector, err)
}

func writeSelector(out io.Writer, what string, input any, selector labels.Selector, err error) {
	outcome, chosen := "", ""
	if err != nil {
		outcome = "!" + err.Error()
	} else {
		outcome = selector.String()
		for _, one := range labelled {
			chosen += digit(selector.Matches(one))
		}
	}
	fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", what, inJSON(input), inJSON(outcome), chosen)
}

func writeFields(out io.Writer, text string) {
	outcome, chosen := "", ""
	if selector, err := fields.ParseSelector(text); err != nil {
		outcome = "!" + err.Error()
	} else {
		outcome = selector.String()
		for _, one := range labelled {
			chosen += digit(selector.Matches(fields.Set(one)))
		}
	}
	fmt.Fprintf(out, "field\t%s\t%s\t%s\n", inJSON(text), inJSON(outcome), chosen)
}

func digit(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

func inJSON(value any) string {
	text, err := json.Marshal(value)
	must(err)
	return string(text)
}
