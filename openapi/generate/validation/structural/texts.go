package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// What Go says of texts: whether they have a format, or match a pattern.
type textVector struct {
	Format  string   `json:"format,omitempty"`
	Pattern string   `json:"pattern,omitempty"`
	Error   string   `json:"error,omitempty"`
	Right   []string `json:"right,omitempty"`
	Wrong   []string `json:"wrong,omitempty"`
}

func writeTexts(target string, count int64) error {
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	m := newMaker(0)
	for _, format := range formats {
		if !strfmt.Default.ContainsName(format) {
			continue
		}
		vector := textVector{Format: format}
		for _, text := range m.textsLike(examples[format]) {
			if strfmt.Default.Validates(format, text) {
				vector.Right = append(vector.Right, text)
			} else {
				vector.Wrong = append(vector.Wrong, text)
			}
		}
		if err := encoder.Encode(vector); err != nil {
			return err
		}
	}
	for range count {
		if err := encoder.Encode(m.patternVector()); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (m *maker) patternVector() textVector {
	pattern := m.pattern()
	vector := textVector{Pattern: pattern}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		vector.Error = err.Error()
		return vector
	}
	for _, text := range []string{"", "a", "ab", "b a", "aab", "A1", "12", "a-b", "ä", "٣x", "[", "a{", "\n", "x_y", "&", "aaa\nb", "\v"} {
		if compiled.MatchString(text) {
			vector.Right = append(vector.Right, text)
		} else {
			vector.Wrong = append(vector.Wrong, text)
		}
	}
	return vector
}

var pieces = []string{
	"a", "b", "ab", "1", ".", "^", "$", "|", "(", ")", "(?:", "(?i)", "(?i:", "(?s).", "(?m)^", "(?P<n>", "[a-c]", "[^a]", "[\\d_]", "[^\\W]", "[a&&b]",
	"[[:alpha:]]", "[[:^digit:]]", "[]a]", "[a-]", "\\d", "\\w+", "\\s", "\\D", "\\W", "\\S", "\\b", "\\B", "\\A", "\\z", "\\pL", "\\p{Greek}", "\\PN", "\\.",
	"\\-", "\\_", "\\x41", "\\x{61}", "\\141", "\\n", "\\Q(a\\E", "*", "+", "?", "*?", "{2}", "{1,}", "{0,2}", "{", "}", "{,3}", "]", "ä", "&", "~", "#", " ",
}

// Pieces that Go refuses, at least here and there.
var brokenPieces = []string{
	"**", "(?", "(?=a)", "(?<n", "(?P<>a)", "[", "[b-a]", "[a", "[[:odd:]]", "\\", "\\1", "\\y", "\\xg", "\\p{Odd}", "\\C", "{1001}", "{3,2}", "(?x)a", "\\8", "(?i", "(?-)",
}

func (m *maker) pattern() string {
	var text strings.Builder
	for range 1 + m.Intn(5) {
		text.WriteString(pick(m, pieces...))
	}
	if m.one(4) {
		text.WriteString(pick(m, brokenPieces...))
	}
	if m.one(4) {
		text.WriteString(")")
	}
	return text.String()
}

// The examples, and what some small changes make of them.
func (m *maker) textsLike(examples []string) []string {
	seen := map[string]bool{}
	var result []string
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			result = append(result, text)
		}
	}
	add("")
	for _, example := range examples {
		add(example)
		for range 12 {
			letters := []rune(example)
			if len(letters) == 0 {
				continue
			}
			at := m.Intn(len(letters))
			switch m.Intn(3) {
			case 0:
				letters[at] = pick(m, 'a', '0', '9', '-', '.', ':', ' ', '@', 'Z', 'ü', '/', '<', '%', '[', '"')
			case 1:
				letters = append(letters[:at], letters[at+1:]...)
			default:
				letters = append(letters[:at], append([]rune{pick(m, 'a', '1', '-', '.', ':', ' ', '%')}, letters[at:]...)...)
			}
			add(string(letters))
		}
	}
	return result
}
