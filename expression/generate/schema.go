// What an expression is about: the schema of self, and values of self and oldSelf.

package main

import (
	stdjson "encoding/json"
	"math"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"sigs.k8s.io/yaml"
)

type about struct {
	// What is written of it, for whoever reads the answers.
	document stdjson.RawMessage
	// As the schema says, and without any limit of sizes.
	limited, unlimited *typed
	variables          map[string]any
}

// An environment that knows the type of self, and how large its parts may be.
type typed struct {
	env       *cel.Env
	root      *apiservercel.DeclType
	estimator *library.CostEstimator
}

// A file of schemas/.
type source struct {
	Schema          map[string]any `json:"schema"`
	ResourceRoot    bool           `json:"resourceRoot,omitempty"`
	OptionalOldSelf bool           `json:"optionalOldSelf,omitempty"`
	Self            any            `json:"self"`
	OldSelf         any            `json:"oldSelf,omitempty"`
	Type            any            `json:"type"`
	UnlimitedType   any            `json:"unlimitedType"`
}

func load(path string) *about {
	var from source
	if err := json.Unmarshal(must(yaml.YAMLToJSON(must(os.ReadFile(path)))), &from); err != nil {
		panic(err)
	}
	structure := structural(from.Schema)
	result := &about{
		limited:   from.environment(structure),
		unlimited: from.environment(structural(withoutLimits(from.Schema).(map[string]any))),
	}
	if from.ResourceRoot {
		structure = model.WithTypeAndObjectMeta(structure)
	}
	result.variables = map[string]any{
		"self":                       schemacel.UnstructuredToVal(from.Self, structure),
		"authorizer":                 authorizerValue(),
		"authorizer.requestResource": requestResourceValue(),
	}
	old := types.OptionalNone
	if from.OldSelf != nil {
		result.variables["oldSelf"] = schemacel.UnstructuredToVal(from.OldSelf, structure)
		old = types.OptionalOf(schemacel.UnstructuredToVal(from.OldSelf, structure))
	}
	if from.OptionalOldSelf {
		result.variables["oldSelf"] = old
	}
	from.Type, from.UnlimitedType = describe(result.limited.root), describe(result.unlimited.root)
	result.document = must(stdjson.Marshal(from))
	return result
}

func structural(properties map[string]any) *schema.Structural {
	var external apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(must(json.Marshal(properties)), &external); err != nil {
		panic(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		panic(err)
	}
	return must(schema.NewStructural(&internal))
}

func withoutLimits(node any) any {
	switch node := node.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range node {
			switch value.(type) {
			case int64, float64:
				if key == "maxLength" || key == "maxItems" || key == "maxProperties" {
					continue
				}
			}
			out[key] = withoutLimits(value)
		}
		return out
	default:
		return node
	}
}

// environment declares what a validation rule of a custom resource sees, and an authorizer besides.
func (s *source) environment(of *schema.Structural) *typed {
	root := model.SchemaDeclType(of, s.ResourceRoot).MaybeAssignTypeName("selfType")
	oldSelf := root.CelType()
	if s.OptionalOldSelf {
		oldSelf = types.NewOptionalType(oldSelf)
	}
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 37))
	set := must(base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("self", root.CelType()),
			cel.Variable("oldSelf", oldSelf),
			cel.Variable("authorizer", library.AuthorizerType),
			cel.Variable("authorizer.requestResource", library.ResourceCheckType),
			library.JSONPatch(),
		},
		DeclTypes: []*apiservercel.DeclType{root},
	}))
	return &typed{set.StoredExpressionsEnv(), root, &library.CostEstimator{SizeEstimator: sizes{root}}}
}

// sizes answers how large what is at a path below self may be, as the validator of custom resources does.
type sizes struct{ root *apiservercel.DeclType }

func (s sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	at := s.root
	for _, name := range node.Path()[1:] {
		var next *apiservercel.DeclType
		switch field, ok := at.Fields[name]; {
		case name == "@items" || name == "@values":
			next = at.ElemType
		case name == "@keys":
			next = at.KeyType
		case ok:
			next = field.Type
		}
		if next == nil {
			return nil
		}
		at = next
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(at.MaxElements)}
}

func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// describe writes a declared type: its name in the language, how large it may be, and its parts.
func describe(t *apiservercel.DeclType) map[string]any {
	out := map[string]any{"type": t.CelType().String(), "max": t.MaxElements}
	switch {
	case t.IsList():
		out["type"], out["items"] = "list", describe(t.ElemType)
	case t.IsMap():
		out["type"], out["keys"], out["values"] = "map", describe(t.KeyType), describe(t.ElemType)
	case t.IsObject():
		fields := map[string]any{}
		for name, field := range t.Fields {
			fields[name] = describe(field.Type)
		}
		out["type"], out["name"], out["fields"] = "object", t.TypeName(), fields
	}
	if t.MaxElements == math.MaxInt64 {
		delete(out, "max")
	}
	return out
}
