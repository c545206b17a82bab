package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// memory makes what one server says comparable with what another one says: what a server may choose freely is hidden,
// and its uids and versions are marked, so that pairs can match them.
type memory struct {
	generated map[string]*regexp.Regexp
	now       time.Time
}

func remember() *memory {
	return &memory{generated: map[string]*regexp.Regexp{}, now: time.Now()}
}

var (
	uuid        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	instant     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	serviceIP   = regexp.MustCompile(`\b10\.0\.\d{1,3}\.\d{1,3}\b`)
	loopback    = regexp.MustCompile(`\b(127\.0\.0\.1|192\.0\.2\.1):\d+`)
	accessToken = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)
	certificate = regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n*`)
	portInCell  = regexp.MustCompile(`:3\d{4}/`)
	// Versions as messages speak of them.
	spokenVersion = regexp.MustCompile(`((?:current|[Rr]esource version): )\d+( \(\d+\))?`)
	// The type of what rules are about has a name of its own each time.
	typeOfSelf = regexp.MustCompile(`\bselfType\d+`)
	duration   = regexp.MustCompile(`^(\d+[smhd])+$`)
	// What a patch made of an object, or the patch itself, as refusals show it: Go has its own order of fields.
	shownPatch   = regexp.MustCompile(`Invalid value: "(\{|map\[)(\\.|[^"\\])*": `)
	generateName = regexp.MustCompile(`"generateName":"([^"]+)"`)
	number       = regexp.MustCompile(`^\d+$`)
)

// answer is the answer with everything named that differs by nature.
func (m *memory) answer(told answer) answer {
	normal := answer{status: told.status, headers: map[string]string{}, body: m.value(told.body)}
	for name, value := range told.headers {
		normal.headers[name] = m.text(value)
	}
	return normal
}

func (m *memory) value(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return m.object(value)
	case []any:
		normal := make([]any, len(value))
		for i, item := range value {
			normal[i] = m.value(item)
		}
		return normal
	case string:
		return m.text(value)
	default:
		return value
	}
}

func (m *memory) object(object map[string]any) any {
	normal := make(map[string]any, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		normal[uuid.ReplaceAllString(key, "<uid>")] = m.field(key, object[key])
	}
	if kind, _ := object["kind"].(string); strings.HasSuffix(kind, "List") {
		hideVersion(normal)
		leaveOutWorkspaceRoles(normal)
	}
	if object["kind"] == "Table" {
		hideVersion(normal)
		hideAges(normal)
	}
	if object["type"] == "BOOKMARK" {
		if bookmark, ok := normal["object"].(map[string]any); ok {
			hideVersion(bookmark)
		}
	}
	return normal
}

// expect prepares for names that the server makes of what a request asks for.
func (m *memory) expect(body string) {
	for _, found := range generateName.FindAllStringSubmatch(body, -1) {
		m.generated[found[1]] = regexp.MustCompile(regexp.QuoteMeta(found[1]) + `[a-z0-9]{5}\b`)
	}
}

func (m *memory) field(key string, value any) any {
	switch key {
	case "resourceVersion":
		if version, ok := value.(string); ok {
			return marked(version)
		}
	case "continue", "token":
		if text, ok := value.(string); ok && len(text) > 20 {
			return "<" + key + ">"
		}
	case "managedFields":
		// They are in the order of their times, which are a second at most apart.
		return sorted(m.value(value), "operation", "manager", "subresource", "apiVersion")
	case "causes":
		// Kubernetes goes through whoever owns a field in any order.
		return sorted(m.value(value), "reason", "field", "message")
	case "nodePort", "healthCheckNodePort":
		if port, ok := value.(json.Number); ok && len(port) == 5 && port[0] == '3' {
			return "<port>"
		}
	}
	return m.value(value)
}

// sorted brings a list into the order of these fields of its items.
func sorted(list any, fields ...string) any {
	items, ok := list.([]any)
	if !ok {
		return list
	}
	key := func(item any) string {
		object, _ := item.(map[string]any)
		var parts []string
		for _, field := range fields {
			parts = append(parts, show(object[field]))
		}
		return strings.Join(parts, " ")
	}
	slices.SortStableFunc(items, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return items
}

// marked marks the version of an object.
func marked(version string) string {
	if !number.MatchString(version) || version == "0" {
		return version
	}
	return "<version " + version + ">"
}

// Several mistakes in one message. Kubernetes goes through the fields of an object in any order.
var severalMistakes = regexp.MustCompile(`(?s)^(.* is invalid: \[)(.*)\]$`)

func inOrder(text string) string {
	found := severalMistakes.FindStringSubmatch(text)
	if found == nil {
		return text
	}
	parts := strings.Split(found[2], ", ")
	slices.Sort(parts)
	return found[1] + strings.Join(parts, ", ") + "]"
}

// What is wrong with an applied object comes line by line, in any order as well.
func linesInOrder(text string) string {
	before, errors, several := strings.Cut(text, "errors:\n")
	if !several || !strings.HasPrefix(text, "failed to create typed") {
		return text
	}
	lines := strings.Split(errors, "\n")
	slices.Sort(lines)
	return before + "errors:\n" + strings.Join(lines, "\n")
}

func (m *memory) text(text string) string {
	text = linesInOrder(inOrder(text))
	for prefix, made := range m.generated {
		text = made.ReplaceAllString(text, prefix+"<generated>")
	}
	text = uuid.ReplaceAllString(text, "<uid $0>")
	text = instant.ReplaceAllStringFunc(text, m.instant)
	text = certificate.ReplaceAllString(text, "<certificate>")
	text = accessToken.ReplaceAllString(text, "kube-api-access-<generated>")
	text = loopback.ReplaceAllString(text, "<server>")
	text = serviceIP.ReplaceAllString(text, "<address>")
	text = typeOfSelf.ReplaceAllString(text, "selfType")
	text = shownPatch.ReplaceAllString(text, `Invalid value: "<object>": `)
	text = portInCell.ReplaceAllString(text, ":<port>/")
	return spokenVersion.ReplaceAllString(text, "${1}<version>")
}

// instant hides times of this run; those that a story names stay. How precise it was is kept.
func (m *memory) instant(found string) string {
	at, err := time.Parse(time.RFC3339Nano, found)
	if away := at.Sub(m.now).Abs(); err != nil || away > 24*time.Hour {
		return found
	}
	if strings.Contains(found, ".") {
		return "<microseconds>"
	}
	return "<time>"
}

// hideVersion: at which version a list was taken says nothing, as others write too.
func hideVersion(list map[string]any) {
	metadata, _ := list["metadata"].(map[string]any)
	if version, ok := metadata["resourceVersion"].(string); ok && version != "" && version != "0" {
		metadata["resourceVersion"] = "<version>"
	}
}

// leaveOutWorkspaceRoles: the roles that workspaces begin with besides those of Kubernetes.
func leaveOutWorkspaceRoles(list map[string]any) {
	items, ok := list["items"].([]any)
	if !ok {
		return
	}
	list["items"] = slices.DeleteFunc(items, func(item any) bool {
		object, _ := item.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		return strings.HasPrefix(name, "system:kcp:")
	})
}

// hideAges: how old something is depends on when it was asked.
func hideAges(table map[string]any) {
	rows, _ := table["rows"].([]any)
	for _, row := range rows {
		row, _ := row.(map[string]any)
		cells, _ := row["cells"].([]any)
		for i, cell := range cells {
			if text, ok := cell.(string); ok && duration.MatchString(text) {
				cells[i] = "<age>"
			}
		}
	}
}
