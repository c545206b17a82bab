// What Kubernetes answers to one expression.

package main

import (
	"context"
	"encoding/base64"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// The fields are told in the README beside what is written.
type answer struct {
	On         string     `json:"on"`
	Expression string     `json:"expression"`
	Issues     string     `json:"issues,omitempty"`
	Type       string     `json:"type,omitempty"`
	Estimate   *[2]uint64 `json:"estimate,omitempty"`
	Unlimited  *[2]uint64 `json:"unlimited,omitempty"`
	Program    string     `json:"program,omitempty"`
	outcome
}

// What running ends in.
type outcome struct {
	Value any     `json:"value,omitempty"`
	Error string  `json:"error,omitempty"`
	Cost  *uint64 `json:"cost,omitempty"`
}

// answer also tells whether there is but one. There may be more: Go goes through maps in no order.
func (a *about) answer(q question) (out answer, always bool) {
	out = answer{On: q.on, Expression: q.expression}
	ast, issues := a.limited.env.Compile(q.expression)
	if issues != nil {
		out.Issues = issues.String()
		return out, true
	}
	out.Type = cel.FormatCELType(ast.OutputType())
	out.Estimate = a.limited.estimate(q.expression)
	out.Unlimited = a.unlimited.estimate(q.expression)
	program, err := a.limited.env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(a.limited.estimator),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		out.Program = err.Error()
		return out, true
	}
	out.outcome = a.run(program)
	runs := 24
	if out.Cost != nil && *out.Cost > 10_000 {
		runs = 2
	}
	for range runs {
		if !reflect.DeepEqual(out.outcome, a.run(program)) {
			return out, false
		}
	}
	return out, true
}

func (a *about) run(program cel.Program) (out outcome) {
	value, details, err := program.ContextEval(context.Background(), a.variables)
	if details != nil {
		out.Cost = details.ActualCost()
	}
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Value = plain(value)
	}
	return out
}

func (t *typed) estimate(expression string) *[2]uint64 {
	ast, issues := t.env.Compile(expression)
	if issues != nil {
		panic(issues.String())
	}
	cost := must(t.env.EstimateCost(ast, t.estimator))
	return &[2]uint64{cost.Min, cost.Max}
}

// plain writes a value as an object of one field, named for its type.
func plain(value ref.Val) any {
	name := value.Type().TypeName()
	switch value := value.(type) {
	case types.Bool, types.Int, types.Uint, types.String:
		return map[string]any{name: value.Value()}
	case types.Double:
		return map[string]any{name: strconv.FormatFloat(float64(value), 'g', -1, 64)}
	case types.Bytes:
		return map[string]any{name: base64.StdEncoding.EncodeToString(value)}
	case types.Null:
		return map[string]any{"null": nil}
	case types.Timestamp, types.Duration:
		return map[string]any{strings.ToLower(name[strings.LastIndex(name, ".")+1:]): value.ConvertToType(types.StringType).Value()}
	case *types.Type:
		return map[string]any{"type": value.TypeName()}
	case *types.Optional:
		if !value.HasValue() {
			return map[string]any{"optional": nil}
		}
		return map[string]any{"optional": plain(value.GetValue())}
	case traits.Lister:
		items := []any{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			items = append(items, plain(it.Next()))
		}
		return map[string]any{"list": items}
	case traits.Mapper:
		return map[string]any{"map": entries(value)}
	default:
		return map[string]any{name: opaque(value)}
	}
}

// entries is in the order of the keys: Go has none. Fields that no schema knows are left out.
func entries(of traits.Mapper) [][2]any {
	keys := []ref.Val{}
	for it := of.Iterator(); it.HasNext() == types.True; {
		if key := it.Next(); key != nil {
			keys = append(keys, key)
		}
	}
	sort.SliceStable(keys, func(i, j int) bool {
		one, ok := keys[i].(traits.Comparer)
		return ok && one.Compare(keys[j]) == types.IntNegOne
	})
	out := [][2]any{}
	for _, key := range keys {
		if value, ok := of.Find(key); ok && value != nil {
			out = append(out, [2]any{plain(key), plain(value)})
		}
	}
	return out
}

func opaque(value ref.Val) string {
	switch value := value.(type) {
	case apiservercel.URL:
		return value.URL.String()
	case apiservercel.Quantity:
		return value.Quantity.String()
	case *apiservercel.Quantity:
		return value.Quantity.String()
	case apiservercel.IP:
		return value.Addr.String()
	case apiservercel.CIDR:
		return value.Prefix.String()
	case apiservercel.Semver:
		return value.Version.String()
	case apiservercel.Format:
		return value.Name
	}
	return ""
}
