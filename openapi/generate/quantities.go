// Quantities as written and as Go prints them.

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	quantity "k8s.io/apimachinery/pkg/api/resource"
)

var suffixes = []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e3", "E-2", "e+6", "e-12", "e20", "i", "K", "mm", "e", " "}

// writeQuantities prints: a text, its canonical form or "!" and the error, and that form rounded up to thousandths.
func writeQuantities(out io.Writer, seed uint64, count int) {
	f := &filler{random: rand.New(rand.NewPCG(seed, 2))}
	for range max(count, 600) {
		text := pick(f, "", "", "", "-", "+") + f.digits() + pick(f, "", "", "."+f.digits(), ".") + pick(f, suffixes...)
		q, err := quantity.ParseQuantity(text)
		if err != nil {
			fmt.Fprintf(out, "%s\t!%s\t!%s\n", text, err, err)
			continue
		}
		// Above the suffix E, Go prints the digits without any suffix: another number. Not an example to follow.
		if printed := quantity.MustParse(q.String()); printed.Cmp(q) == 0 {
			plain := q.String()
			q.RoundUp(quantity.Milli)
			fmt.Fprintf(out, "%s\t%s\t%s\n", text, plain, q.String())
		}
	}
}

func (f *filler) digits() string {
	if f.oneIn(4) {
		return pick(f, "", "0", "00", "1", "1000", "1024", "2048", "9223372036854775807", "9223372036854775808", "12345678901234567890123456789")
	}
	digits := ""
	for range f.random.IntN(12) {
		digits += pick(f, "0", "0", "1", "2", "5", "9")
	}
	return digits + strings.Repeat("0", f.random.IntN(4))
}
