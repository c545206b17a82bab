// Expressions about the schema "object", drawn at random: most of them are right, some are not.

package main

import (
	"math/rand"
	"strings"
)

type drawer struct{ *rand.Rand }

// How deep expressions are.
const depth = 3

// What there is of each type without computing.
var leaves = map[string][]string{
	"bool":      {"true", "false", "self.spec.paused", "self.status.ready", "has(self.spec.name)", "has(oldSelf.status)", "self.spec.flags[0]"},
	"int":       {"0", "1", "-7", "3", "100", "self.spec.replicas", "oldSelf.spec.replicas", "self.spec.numbers[0]", "self.spec.ports[0].port", "self.spec.counts.two", "self.spec.__in__"},
	"uint":      {"0u", "1u", "42u"},
	"double":    {"0.0", "1.5", "-2.25", "1e3", "self.spec.weight", "self.spec.doubles[1]"},
	"string":    {"''", "'a'", "'bb'", "'hello world'", "'10Mi'", "'1.2.3'", "'10.0.0.1'", "self.spec.name", "self.spec.names[1]", "self.spec.labels.app", "self.spec.ports[1].name", "self.spec.dash__dash__ed", "self.spec.template.metadata.name"},
	"duration":  {"duration('1h')", "duration('90s')", "self.spec.durations[0]"},
	"timestamp": {"timestamp('2024-01-01T00:00:00Z')", "timestamp(0)", "self.spec.times[1]", "self.status.conditions[0].lastTransitionTime"},
	"ints":      {"[]", "[1, 2, 3]", "self.spec.numbers", "self.spec.none", "oldSelf.spec.numbers", "self.spec.matrix[0]"},
	"strings":   {"['x']", "['b', 'a']", "self.spec.names", "oldSelf.spec.names", "self.spec.set", "self.spec.groups.g1"},
	"labels":    {"{'a': 'b'}", "self.spec.labels", "oldSelf.spec.labels", "self.spec.selector.matchLabels"},
	"ports":     {"self.spec.ports", "oldSelf.spec.ports"},
	"quantity":  {"quantity('10Mi')", "quantity('1.5k')", "quantity('1').add(5)"},
}

// How more of each type is made of others: "$int" stands for an expression of that type, "$int/x" for one in which x may
// be used.
var makers = map[string][]string{
	"bool": {
		"$bool && $bool", "$bool || $bool", "!($bool)", "$int < $int", "$int == $int", "$double >= $double", "$string == $string",
		"$string != $string", "$string < $string", "$int in $ints", "$string in $strings", "$string in $labels", "$uint > $uint", "$int < $double",
		"$string.contains($string)", "$string.startsWith($string)", "$string.endsWith($string)", "$string.matches('^[a-z]+')",
		"$ints.all(x, $bool/x)", "$ints.exists(x, $bool/x)", "$strings.exists_one(s, $bool/s)",
		"$strings.all(i, s, $bool/s)", "$ports.all(p, p.port > $int)", "$ports.exists(p, p.name == $string)", "$labels.all(k, s, $bool/s)",
		"$ints.isSorted()", "$strings.isSorted()", "sets.contains($strings, $strings)", "sets.intersects($ints, $ints)", "sets.equivalent($strings, $strings)",
		"$timestamp > $timestamp", "$duration <= $duration", "$quantity.isLessThan($quantity)", "$quantity == $quantity", "isQuantity($string)", "isIP($string)",
		"isSemver($string)", "isURL($string)", "$ints == $ints", "$labels == $labels", "$strings == $strings", "$ports == $ports",
		"$ints.includes($int)", "format.dns1123Label().validate($string).hasValue()", "$bool ? $bool : $bool", "dyn($int) == dyn($double)", "dyn($string) == dyn($int)",
		"type($int) == type($double)", "optional.of($int).hasValue()", "$ints[?$int].hasValue()", "$ints.exists_one(x, $bool/x)", "dyn($ints).exists(x, $bool/x)",
		"$ports.exists(p, has(p.protocol) && p.protocol == $string)", "self.spec.limits.exists(k, self.spec.limits[k] == dyn($int))", "dyn($int) < dyn($uint)",
		"optional.of($int) == $ints[?$int]", "self.spec.matrix.exists(r, r == $ints)", "$int in dyn($ints)", "has(self.spec.any) && $bool", "cidr('10.0.0.0/8').containsIP($string)",
	},
	"int": {
		"$int + $int", "$int - $int", "$int * $int", "$int / $int", "$int % $int", "-($int)", "size($string)", "$strings.size()", "size($labels)",
		"$bool ? $int : $int", "$ints.sum()", "$ints.max()", "$ints.min()", "$ints.indexOf($int)", "$strings.lastIndexOf($string)", "$string.indexOf($string)",
		"int($double)", "int($string)", "int($uint)", "$timestamp.getHours()", "$duration.getMinutes()", "$ints[$int]", "$ints[?0].orValue($int)",
		"semver($string).minor()", "$quantity.asInteger()", "ip($string).family()", "sign($quantity)", "$ints.first().orValue($int)", "$ints.last().value()", "dyn($int) + $int",
		"optional.of($int).optMap(x, $int/x).orValue($int)", "[$ints, $ints].map(l, l.size()).sum()", "self.spec.matrix.map(r, r.sum()).max()", "{'a': $int, 'b': $int}.a",
		"$ports.filter(p, p.port > $int)[0].port", "[$int, $int].filter(x, $bool/x)[?0].orValue($int)",
	},
	"uint":   {"$uint + $uint", "$uint - $uint", "uint($int)", "$uint * $uint"},
	"double": {"$double + $double", "$double * $double", "$double / $double", "double($int)", "double($string)", "self.spec.doubles.sum()", "$quantity.asApproximateFloat()"},
	"string": {
		"$string + $string", "string($int)", "string($double)", "string($duration)", "string($timestamp)", "$bool ? $string : $string", "$strings.join(',')",
		"$string.lowerAscii()", "$string.upperAscii()", "$string.trim()", "$string.replace($string, $string)", "$string.substring($int)", "$string.charAt($int)",
		"$string.find('[a-z]+')", "$strings[$int]", "$labels[$string]", "$labels[?$string].orValue($string)", "'%s-%d'.format([$string, $int])", "'%s'.format([$ints])",
		"'%.2f'.format([$double])", "strings.quote($string)", "jsonpatch.escapeKey($string)", "$strings.max()", "$string.substring(0, $int)", "$labels.?app.orValue($string)", "string(dyn($int))",
		"dyn($string) + $string", "$ports[$int].?protocol.orValue($string)", "{'a': $string}[$string]", "'%s and %s'.format([$int, $labels])", "string($bool)",
	},
	"duration":  {"$duration + $duration", "$timestamp - $timestamp", "self.spec.durations.sum()", "duration($string)"},
	"timestamp": {"$timestamp + $duration", "$timestamp - $duration", "timestamp($int)", "timestamp($string)"},
	"ints": {
		"$ints + $ints", "$ints.map(x, $int/x)", "$ints.filter(x, $bool/x)", "$strings.map(s, $int/s)", "$ints.sort()", "$ints.reverse()", "$ints.distinct()",
		"$ints.slice(0, $int)", "lists.range($int)", "[$int, $int]", "$ports.map(p, p.port)", "self.spec.matrix.flatten()", "$ints.sortBy(x, $int/x)",
		"$ints.transformList(i, x, $int/x)", "$bool ? $ints : $ints",
	},
	"strings": {
		"$strings + $strings", "$strings.map(s, $string/s)", "$strings.filter(s, $bool/s)", "$string.split($string)", "$string.findAll('[a-z]')", "$strings.sort()",
		"$strings.distinct()", "[$string, $string]", "$ports.map(p, p.name)", "$labels.map(k, k)", "$strings.reverse()", "$labels.transformList(k, v, k + v)",
	},
	"labels":   {"{$string: $string}", "$labels.transformMap(k, s, $string/s)", "{'k': $string, ?'o': $labels[?$string]}"},
	"ports":    {"$ports.filter(p, p.port > $int)", "$ports + $ports", "$ports.sortBy(p, p.port)"},
	"quantity": {"quantity($string)", "$quantity.add($quantity)", "$quantity.sub($int)"},
}

var kinds = []string{"bool", "bool", "bool", "int", "int", "double", "string", "string", "ints", "strings", "labels", "ports", "duration", "timestamp", "quantity", "uint"}

func (d *drawer) pick(of []string) string { return of[d.Intn(len(of))] }

func (d *drawer) expression() string { return d.of(d.pick(kinds), depth, "") }

// of draws an expression of a type; name is that of a variable which may be used in it.
func (d *drawer) of(kind string, depth int, name string) string {
	if d.Intn(60) == 0 {
		kind = d.pick(kinds)
	}
	if depth == 0 || d.Intn(6) == 0 {
		if name != "" && d.Intn(2) == 0 {
			return name
		}
		return d.pick(leaves[kind])
	}
	return d.fill(d.pick(makers[kind]), depth-1, name)
}

// fill replaces each "$kind", or "$kind/name" where a name may be used.
func (d *drawer) fill(maker string, depth int, name string) string {
	first, rest, found := strings.Cut(maker, "$")
	if !found {
		return first
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
	if end < 0 {
		end = len(rest)
	}
	kind, rest := rest[:end], rest[end:]
	within := name
	if bound, ok := strings.CutPrefix(rest, "/"); ok {
		within, rest = bound[:1], bound[1:]
	}
	filled := d.of(kind, depth, within)
	if strings.ContainsAny(filled, "+-*/%<>=!&|? ") {
		filled = "(" + filled + ")"
	}
	return first + filled + d.fill(rest, depth, name)
}
