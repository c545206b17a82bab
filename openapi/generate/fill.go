// Fills Go objects with seeded values: the plain, the extreme and the empty.

package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler sets fields at random. With a coverage it always sets a field it has not met before and seldom one it has,
// so that a few small objects show every field of the table.
type filler struct {
	random  *rand.Rand
	covered map[string]bool // nil: fill evenly
	depth   int
}

const (
	depthMax    = 14 // JSONSchemaProps would recurse for ever
	chanceNew   = 2  // one in: fields of an even fill
	chanceAgain = 9  // one in: fields already covered
)

var words = []string{"a", "b-c", "x.example.com", "0", "ünï¢ødé 日本 🦀", "line\nbreak\ttab \"quoted\" <&> \\ \u2028", "true", "null"}

func (f *filler) oneIn(n int) bool { return f.random.IntN(n) == 0 }

func pick[T any](f *filler, from ...T) T { return from[f.random.IntN(len(from))] }

// wanted decides whether a field is set at all.
func (f *filler) wanted(t reflect.Type, field reflect.StructField) bool {
	if f.covered == nil {
		return !f.oneIn(chanceNew)
	}
	name := t.String() + "." + t.PkgPath() + "." + field.Name
	if !f.covered[name] {
		f.covered[name] = true
		return true
	}
	return f.oneIn(chanceAgain)
}

func (f *filler) fill(v reflect.Value) {
	if f.special(v) || f.depth > depthMax {
		return
	}
	f.depth++
	defer func() { f.depth-- }()
	switch v.Kind() {
	case reflect.Struct:
		f.structure(v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		f.slice(v)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.count() {
			value := reflect.New(v.Type().Elem()).Elem()
			f.fill(value)
			v.SetMapIndex(reflect.ValueOf(pick(f, words...)).Convert(v.Type().Key()), value)
		}
	case reflect.String:
		v.SetString(pick(f, words...))
	case reflect.Bool:
		v.SetBool(f.random.IntN(3) > 0)
	case reflect.Int32:
		v.SetInt(pick[int64](f, 0, 1, -1, 443, 1<<31-1, -1<<31))
	case reflect.Int64:
		v.SetInt(pick[int64](f, 0, 1, -1, 300, 1<<53+1, 1<<63-1, -1<<63))
	case reflect.Float64:
		v.SetFloat(pick(f, 0, 1, -2.5, 1e-7, 1e21, 1e20, 0.1))
	case reflect.Interface:
		v.Set(reflect.ValueOf(pick[any](f, "cell", int64(7), true)))
	default:
		panic(fmt.Sprintf("no value for %v", v.Type()))
	}
}

func (f *filler) count() int { return pick(f, 1, 1, 1, 2) }

func (f *filler) structure(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Type == reflect.TypeFor[metav1.TypeMeta]() || field.Tag.Get("json") == "-" {
			continue
		}
		if field.Anonymous || f.wanted(v.Type(), field) {
			f.fill(v.Field(i))
		}
	}
}

func (f *filler) slice(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes(pick(f, []byte("bytes"), []byte{0, 255, 10}, []byte{}))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), f.count(), 2))
	for i := range v.Len() {
		f.fill(v.Index(i))
	}
}

func (f *filler) instant(nanos int64) time.Time {
	return time.Unix(pick[int64](f, 0, 1, -1, 1700000000, 253402300799, -62135596799), nanos)
}

// special fills the types whose fields are not what they seem.
func (f *filler) special(v reflect.Value) bool {
	raw := pick(f, `{"a":[1,-2,true,null,"x"],"b":{"c":{}}}`, `"text"`, `12`, `[]`)
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.NewTime(f.instant(0))
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(f.instant(pick(f, int64(0), 1000, 123456000)))
	case *quantity.Quantity:
		*p = quantity.MustParse(pick(f, "0", "1", "100m", "1.5", "1Gi", "1.5Gi", "2048Mi", "-3", "12e6", "1n", "9223372036854775807", "0.1Ki"))
	case *intstr.IntOrString:
		*p = pick(f, intstr.FromInt32(0), intstr.FromInt32(-8080), intstr.FromString("25%"), intstr.FromString(""))
	case *runtime.RawExtension:
		p.Raw = []byte(raw)
	case *metav1.FieldsV1:
		p.SetRawString(pick(f, `{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`, `{}`))
	case *apiextensionsv1.JSON:
		p.Raw = []byte(raw)
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		if p.Allows = f.oneIn(2); f.oneIn(2) && f.depth < depthMax-4 {
			p.Schema, p.Allows = new(apiextensionsv1.JSONSchemaProps), true
			f.fill(reflect.ValueOf(p.Schema).Elem())
		}
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if p.Schema = new(apiextensionsv1.JSONSchemaProps); f.oneIn(2) {
			p.Schema, p.JSONSchemas = nil, make([]apiextensionsv1.JSONSchemaProps, 2)
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if p.Property = []string{"a", "b"}; f.oneIn(2) {
			p.Schema, p.Property = &apiextensionsv1.JSONSchemaProps{Type: "object"}, nil
		}
	default:
		return false
	}
	return true
}
