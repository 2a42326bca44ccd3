package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ofKind returns the changes of one kind.
func ofKind(changes []change, kind changeKind) []change {
	return slices.DeleteFunc(slices.Clone(changes), func(ch change) bool { return ch.Kind != kind })
}

// summary counts changes by kind.
func summary(changes []change) string {
	var parts []string
	for _, kind := range []changeKind{created, changed, removed, refused, unchanged} {
		if n := len(ofKind(changes, kind)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no jobs")
}

// mark returns the sign and the color at the beginning of a change.
func (k changeKind) mark() (string, color) {
	switch k {
	case created:
		return "+", green
	case changed:
		return "~", yellow
	case removed:
		return "-", red
	case refused:
		return "!", red
	}
	return "=", plain
}

// writeChanges writes all changes except the unchanged definitions.
func writeChanges(p *page, changes []change) {
	for _, ch := range changes {
		if ch.Kind == unchanged {
			continue
		}
		sign, color := ch.Kind.mark()
		p.line("%s", p.tint(fmt.Sprintf("%s %s %s", sign, ch.title(), ch.Kind), color))
		if ch.Reason != "" {
			p.line("    %s", printable(ch.Reason))
		}
		if ch.Kind == changed || ch.Kind == refused {
			for line := range strings.Lines(ch.Diff) {
				writeDiffLine(p, strings.TrimSuffix(line, "\n"))
			}
		}
		writeSlots(p, &ch)
	}
}

func writeDiffLine(p *page, line string) {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "\\"):
	case strings.HasPrefix(line, "+"):
		p.line("    %s", p.tint(line, green))
	case strings.HasPrefix(line, "-"):
		p.line("    %s", p.tint(line, red))
	default:
		p.line("    %s", line)
	}
}

func writeSlots(p *page, ch *change) {
	before, after := strings.Join(stamps(ch.NextBefore), "  "), strings.Join(stamps(ch.NextAfter), "  ")
	switch {
	case after == "" && (ch.Kind == created || ch.Kind == changed) && ch.spec.Scheduled():
		p.line("    warning: the schedule has no more slots: the job runs only on request")
	case ch.Kind == removed:
		if before != "" {
			p.line("    canceled slots: %s", before)
		}
		for _, run := range ch.Cancels {
			p.line("    will cancel run: %s", run)
		}
		if more := ch.CancelsAll - len(ch.Cancels); more > 0 {
			p.line("    will cancel runs: %d more", more)
		}
	case before == "" && after == "": // a job without a schedule
	case ch.Kind == created || before == after:
		p.line("    next runs: %s", orDash(after))
	default:
		p.line("    next runs before: %s", orDash(before))
		p.line("    next runs after:  %s", orDash(after))
	}
}
