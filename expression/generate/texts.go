// Texts drawn at random for functions that read them: made of what matters to each, so that many are almost right.

package main

import (
	"strconv"
	"strings"
)

// An expression with "$" for a text, and what texts are made of.
type reading struct {
	expression string
	pieces     []string
	most       int
}

var readings = []reading{
	{"quantity($)", []string{"0", "1", "12", "999", ".", ".", "5", "k", "Ki", "M", "Mi", "Gi", "E", "Ei", "m", "n", "u", "e3", "e-9", "E+2", "+", "-", "K", " ", "00", "9223372036854775807"}, 5},
	{"quantity($).asInteger()", []string{"0", "1", "12", "5", ".", "k", "Ki", "Mi", "m", "e3", "E2", "-", "000"}, 4},
	{"quantity($).asApproximateFloat()", []string{"0", "1", "12", "5", ".", "k", "Ki", "Mi", "m", "e3", "e30", "-", "123456789"}, 4},
	{"quantity($).add(quantity('1.5k')).sub(3)", []string{"0", "1", "12", "5", ".", "k", "Ki", "Mi", "m", "n", "e3", "-", "123456789"}, 4},
	{"url($)", []string{"http", "https", "ftp", ":", "/", "//", "://", "host", "example.com", ":80", ":", "@", "user", "%20", "%zz", "%41", "%C3%A4", "ä", "?", "#", "a=b", "&", "[", "]", "::1", "..", "*", " ", "<", "\"", "+", "~", ";", "\\", "|", "%"}, 7},
	{"url('http://' + $).getHost()", []string{"a", "b.c", ":1", ":", "[", "]", "::1", "%25", "eth0", "@", "u", "%41", "%20", "/", "-", "_", "!", "\"", "é"}, 5},
	{"url('/' + $).getEscapedPath()", []string{"a", "b", "/", "%2F", "%2f", "%20", " ", "é", "?", "!", "'", "(", "[", "|", "{", "+", ";", ":", "@", "%", "<"}, 5},
	{"url('/?' + $).getQuery()", []string{"a", "b", "=", "&", "+", "%20", "%", ";", "é", "#", "a=1", "=x"}, 6},
	{"ip($)", []string{"1", "0", "255", "256", "01", ".", ".", ".", ":", "::", "ffff", "a", "g", "%eth0", "/8", "1.2.3.4", "12345", " "}, 9},
	{"string(ip($))", []string{"1", "0", "0", "ab", "0db8", ":", ":", "::", ":", "f", "1.2.3.4"}, 14},
	{"cidr($).masked()", []string{"10", "1.2.3.4", "255", ".", ":", "::", "ab:cd", "/", "/8", "/24", "/33", "/64", "/129", "/0", "/08", "%a"}, 4},
	{"semver($)", []string{"1", "0", "01", "22", ".", ".", ".", "-", "+", "rc", "a", "v", "_", " ", "1.2.3", "alpha.1"}, 7},
	{"semver($, true)", []string{"1", "0", "01", "22", ".", ".", "-", "+", "rc", "v", "00", "1.2.3"}, 5},
	{"semver('1.0.0-' + $).compareTo(semver('1.0.0-a.2'))", []string{"1", "2", "a", "b", ".", "-", "A"}, 5},
	{"$.split($)", []string{"a", "b", "ab", ",", "é", ""}, 4},
	{"$.replace($, 'xy')", []string{"a", "b", "ab", "é", ""}, 4},
	{"[$.indexOf($), $.lastIndexOf($)]", []string{"a", "b", "ab", "é", "😀", ""}, 4},
	{"$.format([1, 2.5, 'a'])", []string{"%d", "%f", "%s", "%.2f", "%e", "%x", "%", "%%", "%b", "%.3e", "%o", "%.", "a", "é", "%X"}, 4},
	{"[timestamp(0).getHours($)]", []string{"UTC", "+", "-", "0", "1", "02", ":", "30", "Europe/Berlin", "Asia/Tokyo", "Local"}, 4},
	{"duration($)", []string{"1", "2.5", "h", "m", "s", "ms", "us", "ns", "-", "+", ".", "0", " ", "d", "µs"}, 5},
	{"timestamp($)", []string{"2024-02-29", "2023-02-29", "T", "t", "12:34:56", "23:59:60", ".5", ",5", "Z", "z", "+01:00", "-24:00", " ", "1"}, 4},
	{"'abc aab 12'.find($)", []string{"a", "b", "c", ".", "*", "+", "?", "(", ")", "[", "]", "|", "^", "$", "\\", "\\d", "\\w", "\\b", "{2}", "{,3}", "{1,}", "{", "}", "-", "[a-c]", "[^", "(?:", "(?i)", "(?P<n>", "\\x41", "\\pL", "1", "\\Q", "\\E", ":alpha:", "&&"}, 6},
	{"'aXbé\\n7'.findAll($)", []string{"a", "x", "é", ".", "*", "?", "\\s", "\\S", "\\W", "[[:alpha:]]", "[^a]", "(?s)", "(?i)", "(?U)", "|", "\\B", "\\z", "\\A", "$", "+", "(", ")", "{0,2}", "\\p{Lu}", "\\P{L}"}, 5},
}

func init() {
	names := []string{"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "labelValue", "uuid", "byte", "date", "datetime"}
	pieces := []string{"a", "b1", "-", ".", "/", "A", "_", "1", "123e4567", "e89b", "=", "aGVs", "2021", "-01", "-31", "T", "12:34:56", "Z", ".5", " "}
	for _, name := range names {
		readings = append(readings, reading{"format." + name + "().validate($)", pieces, 6})
	}
}

// texts draws expressions, as many of each reading.
func (d *drawer) texts(each int) (questions []question) {
	for _, of := range readings {
		for range each {
			expression := of.expression
			for strings.Contains(expression, "$") {
				text := ""
				for range d.Intn(of.most + 1) {
					text += d.pick(of.pieces)
				}
				// Dollars of a text are no places for others.
				text = strings.ReplaceAll(strconv.Quote(text), "$", "\x00")
				expression = strings.Replace(expression, "$", text, 1)
			}
			questions = append(questions, question{"scalars", strings.ReplaceAll(expression, "\x00", "$")})
		}
	}
	return questions
}
