// Damaged protobuf: what Go makes of it, if anything.

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"unicode/utf8"
)

// writeDamaged prints: the damaged bytes, a tab, and the JSON of what Go reads, or nothing where it gives up.
// Small objects only: a flipped bit must have a chance to hit something that matters.
func writeDamaged(out io.Writer, seed uint64, count int) {
	c := newCodecs()
	f := &filler{random: rand.New(rand.NewPCG(seed, 4)), covered: map[string]bool{}}
	kinds := c.kinds()
	for written := 0; written < max(count, 200); {
		kind := pick(f, kinds...)
		wire := c.toProto(c.filled(kind, f))
		if len(wire) > 300 {
			continue
		}
		inside := bytes.Index(wire, []byte(kind.Kind)) + len(kind.Kind)
		f.damage(wire[inside:])
		fmt.Fprintf(out, "%s\t%s\n", base64.StdEncoding.EncodeToString(wire), c.salvage(wire))
		written++
	}
}

func (f *filler) damage(wire []byte) {
	for range pick(f, 1, 1, 2, 3) {
		at := f.random.IntN(len(wire))
		wire[at] = pick(f, wire[at]^1<<f.random.IntN(8), wire[at]+1, 0, byte(f.random.IntN(256)))
	}
}

// salvage decodes like an API server, and prints what came out if it can be printed.
func (c codecs) salvage(wire []byte) string {
	object, _, err := c.proto.Decode(slices.Clone(wire), nil, nil)
	if err != nil {
		return ""
	}
	text, err := json.Marshal(object)
	if err != nil || !utf8.Valid(text) {
		return ""
	}
	return string(text)
}
