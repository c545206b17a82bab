package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// How much of one case, and of one value, is printed.
const (
	mostDifferences = 12
	mostText        = 600
)

// row is one topic of the table. A case is all steps of one name.
type row struct {
	topic   string
	cases   []*tally
	leftOut bool
}

type tally struct {
	name                      string
	chosen, open, unexplained int
}

type report struct {
	meant []*chosen
	rows  []*row
	pairs pairs
	// Stories that are not about what they say they are.
	wrong int
}

func (r *report) begin(topic string) {
	r.rows = append(r.rows, &row{topic: topic})
	r.pairs = noPairs()
}

func (r *report) leaveOut(topic topic) {
	r.rows = append(r.rows, &row{topic: topic.name, leftOut: true})
}

// add judges one step and prints what is wrong with it.
func (r *report) add(step step, path string, kube, hanse answer) {
	row := r.rows[len(r.rows)-1]
	tally := row.of(step.name)
	if step.want != 0 && kube.status != step.want {
		r.wrong++
		fmt.Printf("%s: %s %s: the story expects %d, and the real server answers %d: %s\n",
			step.name, step.method, path, step.want, kube.status, short(show(kube.body)))
	}
	var open []difference
	for _, found := range r.pairs.compare(kube, hanse) {
		known := r.find(row.topic, step.method+" "+path+said(step.header), found)
		switch {
		case known == nil:
			open = append(open, found)
		case known.Open:
			tally.open++
		default:
			tally.chosen++
		}
	}
	tally.unexplained += len(open)
	if len(open) > 0 {
		printStep(step, path, open)
	}
}

// find is the entry of differences.yaml for this difference, if there is one.
func (r *report) find(topic, request string, found difference) *chosen {
	for _, one := range r.meant {
		if one.matches(topic, request, found) {
			one.met++
			return one
		}
	}
	return nil
}

func (r *row) of(name string) *tally {
	for _, tally := range r.cases {
		if tally.name == name {
			return tally
		}
	}
	r.cases = append(r.cases, &tally{name: name})
	return r.cases[len(r.cases)-1]
}

func printStep(step step, path string, open []difference) {
	fmt.Printf("%s: %s %s%s\n", step.name, step.method, path, said(step.header))
	if step.body != "" {
		fmt.Println("    ", short(step.body))
	}
	for i, found := range open {
		if i == mostDifferences {
			fmt.Printf("    and %d more\n", len(open)-i)
			break
		}
		fmt.Println("   ", difference{found.at, short(found.kube), short(found.hanse)})
	}
}

// said are the headers of a story, as the report and differences.yaml show them.
func said(header map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&text, " [%s: %s]", name, header[name])
	}
	return text.String()
}

func short(text string) string {
	if len(text) > mostText {
		return text[:mostText] + "..."
	}
	return text
}

// counts are the cases of a row: all, the same, those with only chosen differences, those with known ones that are not
// meant, and the others.
func (r *row) counts() [5]int {
	counts := [5]int{len(r.cases)}
	for _, tally := range r.cases {
		switch {
		case tally.unexplained > 0:
			counts[4]++
		case tally.open > 0:
			counts[3]++
		case tally.chosen > 0:
			counts[2]++
		default:
			counts[1]++
		}
	}
	return counts
}

// print prints the table, and after a whole run which chosen differences are none any more.
func (r *report) print(whole bool) {
	fmt.Println()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "topic\tcases\tsame\tchosen differences\tknown, open\tunexplained")
	line := func(name string, counts [5]int) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\n", name, counts[0], counts[1], counts[2], counts[3], counts[4])
	}
	var total [5]int
	for _, row := range r.rows {
		if row.leftOut {
			fmt.Fprintf(table, "%s\tonly when asked for\n", row.topic)
			continue
		}
		line(row.topic, row.counts())
		for i, count := range row.counts() {
			total[i] += count
		}
	}
	line("all", total)
	table.Flush()
	if r.wrong > 0 {
		fmt.Printf("%d steps are not about what their story says\n", r.wrong)
	}
	for _, one := range r.meant {
		if whole && one.met == 0 {
			fmt.Printf("not met any more: %s (%s)\n", one.At, strings.TrimSpace(one.Why))
		}
	}
}

// clean says whether every difference is a chosen one, and every story right.
func (r *report) clean() bool {
	for _, row := range r.rows {
		if row.counts()[4] > 0 {
			return false
		}
	}
	return r.wrong == 0
}
