package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// fixedNow is when the objects of the file are looked at: always the same, so that the file changes only if the rows do.
// The tests look a little later within the same second, as the real clock does while a table is made.
var fixedNow = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

var (
	relative = regexp.MustCompile(`<(in )?([0-9a-z]+)( ago)?( exactly)?>`)
	part     = regexp.MustCompile(`([0-9]+)([ydhms])`)
	units    = map[string]time.Duration{
		"y": 365 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second,
	}
)

// withTimes puts instants in the place of "<5m30s ago>" and "<in 5m>"; "exactly" gives microseconds.
func withTimes(text string, now time.Time) string {
	return relative.ReplaceAllStringFunc(text, func(found string) string {
		match := relative.FindStringSubmatch(found)
		var length time.Duration
		for _, part := range part.FindAllStringSubmatch(match[2], -1) {
			count := must1(strconv.Atoi(part[1]))
			length += time.Duration(count) * units[part[2]]
		}
		if match[1] == "" {
			length = -length
		}
		layout := "2006-01-02T15:04:05Z"
		if strings.HasSuffix(match[4], "exactly") {
			layout = "2006-01-02T15:04:05.000000Z"
		}
		return now.Add(length).UTC().Format(layout)
	})
}

// durations are those around every change of form.
func durations() []time.Duration {
	var lengths []time.Duration
	day := 24 * time.Hour
	for _, edge := range []time.Duration{
		0, time.Second, time.Minute, 2 * time.Minute, 9 * time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour,
		7 * time.Hour, 8 * time.Hour, day, 2 * day, 7 * day, 8 * day, 365 * day, 2 * 365 * day, 3 * 365 * day,
		8 * 365 * day, 100 * 365 * day,
	} {
		for _, off := range []time.Duration{0, 1, time.Second, 90 * time.Second, 90 * time.Minute, 30 * time.Hour} {
			lengths = append(lengths, edge+off, edge-off)
		}
	}
	return append(lengths, 1<<63-1, -1<<63, -1500*time.Millisecond, -999*time.Millisecond, -2*time.Second)
}
