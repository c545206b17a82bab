// Command differential asks a real kube-apiserver and Hanse the same, request by request, and compares what they
// answer. README.md says how stories are written and how the report is read.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

type options struct {
	kube, hanse, folder, topic, only string
}

func main() {
	var o options
	flag.StringVar(&o.kube, "kube", "", "kubeconfig of the real server")
	flag.StringVar(&o.hanse, "hanse", os.Getenv("KUBECONFIG"), "kubeconfig of Hanse")
	flag.StringVar(&o.folder, "folder", ".", "folder with stories, templates and differences.yaml")
	flag.StringVar(&o.topic, "topic", "", "only topics whose name begins with one of these, separated by commas")
	flag.DurationVar(&patience, "patience", patience, "how long a condition may take to come about")
	flag.StringVar(&o.only, "case", "", "only this case of generated topics")
	flag.Parse()
	same, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

func run(o options) (bool, error) {
	kube, err := open("kube", o.kube)
	if err != nil {
		return false, err
	}
	hanse, err := open("hanse", o.hanse)
	if err != nil {
		return false, err
	}
	meant, err := readChosen(o.folder + "/differences.yaml")
	if err != nil {
		return false, err
	}
	topics, err := allTopics(o, kube)
	if err != nil {
		return false, err
	}
	report := report{meant: meant}
	for _, topic := range topics {
		if !asked(o.topic, topic.name) {
			continue
		}
		if o.topic == "" && topic.apart {
			report.leaveOut(topic)
			continue
		}
		if err := tell(topic, kube, hanse, &report); err != nil {
			return false, fmt.Errorf("%s: %w", topic.name, err)
		}
	}
	if len(report.rows) == 0 {
		return false, fmt.Errorf("no topic begins with %q", o.topic)
	}
	report.print(o.topic == "" && o.only == "")
	return report.clean(), nil
}

// allTopics are those of the files and those that are generated.
func allTopics(o options, kube *server) ([]topic, error) {
	topics, err := readStories(o.folder + "/stories")
	if err != nil {
		return nil, err
	}
	generated, err := generate(o.folder+"/templates", kube)
	if err != nil {
		return nil, err
	}
	for _, topic := range generated {
		if o.only != "" {
			topic.steps = slices.DeleteFunc(topic.steps, func(step step) bool { return step.name != o.only })
		}
		topics = append(topics, topic)
	}
	slices.SortFunc(topics, func(a, b topic) int { return strings.Compare(a.name, b.name) })
	return topics, nil
}

func asked(names, topic string) bool {
	begins := func(name string) bool { return strings.HasPrefix(topic, name) }
	return names == "" || slices.ContainsFunc(strings.Split(names, ","), begins)
}
