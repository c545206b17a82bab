// Test vectors: what the Go types make of filled objects, in protobuf and in JSON.

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsoncodec "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// codecs are the serializers of an API server.
type codecs struct {
	scheme *runtime.Scheme
	proto  *protobuf.Serializer
	strict *jsoncodec.Serializer
}

func newCodecs() codecs {
	scheme := newScheme()
	return codecs{scheme, protobuf.NewSerializer(scheme, scheme),
		jsoncodec.NewSerializerWithOptions(jsoncodec.DefaultMetaFactory, scheme, scheme, jsoncodec.SerializerOptions{Strict: true})}
}

func (c codecs) toProto(object runtime.Object) []byte {
	var out bytes.Buffer
	must(c.proto.Encode(object, &out))
	return out.Bytes()
}

func (c codecs) fromProto(text []byte) runtime.Object {
	object, _, err := c.proto.Decode(text, nil, nil)
	must(err)
	return object
}

func toJSON(object runtime.Object) []byte {
	text, err := json.Marshal(object)
	must(err)
	return text
}

// kinds are what travels in protobuf, in a fixed order.
func (c codecs) kinds() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, g := range groups {
		for name, t := range c.scheme.KnownTypes(g.at) {
			if (t.PkgPath() == g.path || g.at.Group == "") && isMessage(t) && name != "WatchEvent" {
				all = append(all, g.at.WithKind(name))
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (c codecs) filled(kind schema.GroupVersionKind, f *filler) runtime.Object {
	object, err := c.scheme.New(kind)
	must(err)
	f.fill(reflect.ValueOf(object).Elem())
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object
}

// writeVectors prints pairs: "both" must be equal in either direction, "decode" only from protobuf to JSON
// (some Go values print like others: a pointer to the zero time is null).
func writeVectors(out io.Writer, seed uint64, each int) {
	c := newCodecs()
	f := &filler{random: rand.New(rand.NewPCG(seed, 0))}
	for range max(each, 2) {
		if each == 0 {
			f.covered = map[string]bool{}
		}
		for _, kind := range c.kinds() {
			wire := c.toProto(c.filled(kind, f))
			text := toJSON(c.fromProto(wire))
			direction := "decode"
			if again, _, err := c.strict.Decode(text, nil, nil); err == nil && bytes.Equal(c.toProto(again), wire) {
				direction = "both"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\n", direction, base64.StdEncoding.EncodeToString(wire), text)
		}
	}
}
