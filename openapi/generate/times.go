// Times as written and as Go prints them, or its words about what is wrong.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writeTimes prints: a text, its reading as a Time and as a MicroTime, each as JSON or as "!" and the error.
func writeTimes(out io.Writer, seed uint64, count int) {
	f := &filler{random: rand.New(rand.NewPCG(seed, 3))}
	for range max(count, 200) {
		text := pick(f, "2024", "1970", "0001", "9999", "0000", "24") + "-" + pick(f, "01", "02", "02", "12", "12", "13", "00", "1") + "-" +
			pick(f, "01", "28", "29", "30", "31", "00") + pick(f, "T", "T", "T", "T", "T", "T", " ") + pick(f, "00", "23", "23", "24", "7") + ":" +
			pick(f, "00", "59", "59", "60") + ":" + pick(f, "00", "59", "59", "60", "1") + pick(f, "", "", ".5", ",25", ".123456", ".1234567891", ".") +
			pick(f, "Z", "Z", "Z", "+00:00", "-01:30", "+25:00", "+24:61", "+1:00", "z", "")
		if f.oneIn(6) {
			text = text[:f.random.IntN(len(text))]
		}
		if f.oneIn(9) {
			text += pick(f, "x", "é", `"`, "\n")
		}
		quoted, err := json.Marshal(text)
		must(err)
		var seconds metav1.Time
		var micros metav1.MicroTime
		fmt.Fprintf(out, "%s\t%s\t%s\n", quoted, reading(quoted, &seconds), reading(quoted, &micros))
	}
}

func reading(text []byte, into any) string {
	if err := json.Unmarshal(text, into); err != nil {
		return "!" + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	printed, err := json.Marshal(into)
	must(err)
	return string(printed)
}
