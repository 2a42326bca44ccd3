package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Parse checks a Spec and returns its schedule. If it refuses the Spec, the error joins every reason with [errors.Join],
// each an *[Error]. A Spec without any slot is refused. A recurring Spec must have a slot after its start, or after 1970
// if it has none, because Parse does not know the present time.
func Parse(spec Spec) (*Schedule, error) {
	var p parser
	s := &Schedule{plan: &plan{first: firstSlot, last: lastSlot}}
	p.zone(s, spec.Timezone)
	gap := policy(&p, "dst.gap", spec.Gap, Gaps())
	fold := policy(&p, "dst.fold", spec.Fold, Folds())
	p.window(s, spec.Start, spec.End)
	s.exclude = p.dates("exclude", spec.Exclude)
	p.calendar(s, spec, gap, fold)
	p.jitter(s, spec)
	p.slots(s, spec, gap, fold)
	recurs, shared := s.recurrence()
	if shared && len(p.reasons) == 0 {
		if known, ok := recurred.get(recurs); ok {
			s.plan = known
			return s, nil
		}
	}
	if len(p.reasons) == 0 {
		p.refuseEmpty(s, spec)
	}
	if len(p.reasons) > 0 {
		return nil, errors.Join(p.reasons...)
	}
	if shared {
		recurred.put(recurs, s.plan)
	}
	return s, nil
}

// Hints that several errors share.
const (
	roundHint = "round it to milliseconds"
	yearHint  = "write a year from 1 to 9999"
)

// parser collects the reasons to refuse a Spec.
type parser struct{ reasons []error }

func (p *parser) refuse(e Error) { p.reasons = append(p.reasons, &e) }

func (p *parser) zone(s *Schedule, name string) {
	zone, err := LoadZone(name)
	if err != nil {
		p.refuse(Error{"timezone", -1, name, err.Error(), "an IANA name, such as Europe/Berlin, or UTC"})
		zone = time.UTC
	}
	s.zone = zone
}

// policy returns value, or the first element of all if value is empty. It refuses a value that all does not contain.
func policy[T ~string](p *parser, field string, value T, all []T) T {
	if value == "" {
		return all[0]
	}
	if !slices.Contains(all, value) {
		names := make([]string, len(all))
		for i, v := range all {
			names[i] = string(v)
		}
		p.refuse(Error{field, -1, string(value), "is not a policy", "one of " + strings.Join(names, ", ")})
	}
	return value
}

func (p *parser) window(s *Schedule, start, end time.Time) {
	if !start.IsZero() {
		s.first = p.bound("start", start)
	}
	if !end.IsZero() {
		s.last = p.bound("end", end) - 1
	}
	if !start.IsZero() && !end.IsZero() && !end.After(start) {
		p.refuse(Error{"end", -1, end.Format(time.RFC3339), "is not after start", "write a time after start"})
	}
}

// bound returns t in milliseconds, rounded up, so that a slot before it is before t.
func (p *parser) bound(field string, t time.Time) int64 {
	if !inRange(t) {
		p.refuse(Error{field, -1, "", "is outside the years 1 to 9999", yearHint})
		return 0
	}
	return t.Add(time.Millisecond - time.Nanosecond).UnixMilli()
}

func inRange(t time.Time) bool {
	return !t.Before(time.UnixMilli(firstSlot)) && !t.After(time.UnixMilli(lastSlot))
}

// dates returns the days of a list of dates, ascending.
func (p *parser) dates(field string, dates []string) (list []int64) {
	if len(dates) > MaxDates {
		p.refuse(Error{field, -1, "", fmt.Sprintf("has %d dates, at most %d are allowed", len(dates), MaxDates),
			"remove those that have passed"})
		return nil
	}
	for i, text := range dates {
		t, err := time.Parse(time.DateOnly, text)
		switch {
		case err == nil:
			list = append(list, floorDiv(t.Unix(), secondsPerDay))
		case strings.Contains(err.Error(), "out of range"):
			p.refuse(Error{field, i, text, "is a date that does not exist", "write a day that the month has"})
		default:
			p.refuse(Error{field, i, text, "is not a date", "YYYY-MM-DD"})
		}
	}
	slices.Sort(list)
	return list
}

func (p *parser) jitter(s *Schedule, spec Spec) {
	switch {
	case spec.Jitter < 0:
		p.refuse(Error{"jitter", -1, spec.Jitter.String(), "is negative", "such as 30s"})
	case spec.Jitter%time.Millisecond != 0:
		p.refuse(Error{"jitter", -1, spec.Jitter.String(), "is finer than a millisecond", roundHint})
	default:
		s.offset = Offset(spec.Seed, spec.Jitter)
	}
}

func (p *parser) slots(s *Schedule, spec Spec, gap Gap, fold Fold) {
	given := 0
	for _, set := range []bool{len(spec.Cron) > 0, spec.Every != 0, len(spec.At) > 0} {
		if set {
			given++
		}
	}
	if given != 1 {
		p.refuse(Error{"schedule", -1, "", "needs exactly one of schedule, every and at", "keep one of them"})
		return
	}
	if len(spec.Cron) > MaxExpressions {
		p.refuse(Error{"schedule", -1, "", fmt.Sprintf("has %d expressions, at most %d are allowed", len(spec.Cron), MaxExpressions),
			"combine several, such as 0,30 8-18 * * *"})
		return
	}
	for i, text := range spec.Cron {
		r, err := parseExpression(text, spec.Seed, gap, fold)
		if err != nil {
			p.refuse(Error{"schedule", i, abbreviated(text), err.msg, err.hint})
			continue
		}
		s.rules = append(s.rules, r)
	}
	if spec.Every != 0 {
		r, err := everyRule(spec.Every)
		if err != nil {
			p.refuse(Error{"every", -1, spec.Every.String(), err.msg, err.hint})
		}
		s.rules = append(s.rules, r)
	}
	for i, t := range spec.At {
		switch {
		case !inRange(t):
			p.refuse(Error{"at", i, "", "is outside the years 1 to 9999", yearHint})
		case t.Nanosecond()%int(time.Millisecond) != 0:
			p.refuse(Error{"at", i, t.Format(time.RFC3339Nano), "is finer than a millisecond", roundHint})
		default:
			s.at = append(s.at, t.UnixMilli())
		}
	}
	slices.Sort(s.at)
	s.at = slices.Compact(s.at)
}

// refuseEmpty refuses a schedule that has no slot between start and end and outside its excluded dates.
func (p *parser) refuseEmpty(s *Schedule, spec Spec) {
	from := int64(-1) // a slot in the first millisecond of 1970 counts
	if len(s.at) > 0 || !spec.Start.IsZero() {
		from = s.first - 1
	}
	if _, ok := s.next(from, s.last); ok {
		return
	}
	field, expr := "schedule", abbreviated(strings.Join(spec.Cron, "; "))
	switch {
	case spec.Every != 0:
		field, expr = "every", spec.Every.String()
	case len(s.at) > 0:
		field, expr = "at", ""
	}
	var why []string
	if !spec.Start.IsZero() || !spec.End.IsZero() {
		why = append(why, "start and end")
	}
	if len(spec.Exclude) > 0 {
		why = append(why, "exclude")
	}
	if spec.Calendar != nil {
		why = append(why, "calendar")
	}
	if spec.Gap == GapSkip {
		why = append(why, "gap: skip")
	}
	msg, hint := neverFires, "change "+field
	if len(why) > 0 {
		verb := " leave no slot"
		if len(why) == 1 && why[0] != "start and end" {
			verb = " leaves no slot"
		}
		msg += ": " + strings.Join(why, ", ") + verb
		hint += ", or " + strings.Join(why, ", ")
	}
	p.refuse(Error{field, -1, expr, msg, hint})
}

// abbreviated shortens a value that is too long for an error message.
func abbreviated(text string) string {
	if len(text) <= MaxExpression {
		return text
	}
	return strings.ToValidUTF8(text[:MaxExpression/4], "") + "…"
}
