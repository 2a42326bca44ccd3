package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Notes describes surprising slots between from and until, and at least those of one year. It reports clock changes that move,
// drop or double a slot, expressions with two day fields, and the absence of slots. It returns at most n notes, the soonest
// first. If n is not positive, it returns all.
func (s *Schedule) Notes(from, until time.Time, n int) []string {
	var notes []string
	add := func(note string) {
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if next, ok := s.Next(from); !ok {
		add("never fires again after " + from.UTC().Format(time.RFC3339))
	} else if next.After(from.AddDate(1, 0, 0)) {
		add("fires next on " + next.In(s.zone).Format(time.DateOnly) + ", more than a year away")
	}
	add(s.DaysNote())
	for _, note := range s.offNotes(from, until) {
		add(note)
	}
	start := floorDiv(s.clamp(from), 1000)
	// One day more: a wall time that is shown twice is first shown before the clock is set.
	end := max(start+366*secondsPerDay, floorDiv(s.clamp(until), 1000)+secondsPerDay)
	for at := start; at < end && (n <= 0 || len(notes) < n); {
		before := bounds(s.zone, at)
		at = before.end
		if at >= end {
			break
		}
		c := change{at, before.offset, bounds(s.zone, at).offset}
		for i := range s.rules {
			add(s.noteOn(c, &s.rules[i], start))
		}
	}
	if n > 0 && len(notes) > n {
		notes = notes[:n]
	}
	return notes
}

// DaysNote says how an expression combines its two fields of days; empty if no expression restricts both.
func (s *Schedule) DaysNote() string {
	for _, r := range s.rules {
		switch {
		case r.fields == nil:
		case r.fields.days.both:
			return "day of month and day of week are both set, and one begins with *: a day must match both; Kubernetes takes either one"
		case r.fields.days.either:
			return "day of month and day of week are both set: a day that matches either one counts"
		}
	}
	return ""
}

// Pitfalls returns warnings about a valid expression whose author may have meant something else.
func Pitfalls(expression string) (list []string) {
	parts := strings.Fields(strings.ToUpper(expression))
	if len(parts) != 5 && len(parts) != 6 {
		return nil
	}
	inAny := func(parts []string, holds func(item string) bool) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return slices.ContainsFunc(strings.Split(part, ","), holds) })
	}
	if inAny(parts, func(item string) bool { return strings.HasPrefix(item, "H") }) {
		list = append(list, "H depends on the job's name, so these are not the slots of any job; name the job instead, also with --file")
	}
	numbered := func(item string) bool {
		item, _, _ = strings.Cut(item, "#")
		item, _, _ = strings.Cut(item, "/")
		return strings.ContainsAny(item, "1234567")
	}
	if len(parts) == 6 && inAny(parts[5:], numbered) {
		list = append(list, "day of week: 1 is Monday, as in cron; in Quartz it is Sunday")
	}
	return list
}

// change is an instant at which a zone's clock is set; the offsets are in seconds.
type change struct{ at, before, after int64 }

// noteOn describes the effect of a clock change on a rule's slots after from; "" if it has none.
func (s *Schedule) noteOn(c change, r *rule, from int64) string {
	if r.fields == nil || c.before == c.after {
		return ""
	}
	if r.elapsed && r.everyHour() && (c.after-c.before)%3600 == 0 {
		return "" // the slots have the same minutes in every hour, so a change by whole hours is not visible
	}
	low, high := c.at+min(c.before, c.after), c.at+max(c.before, c.after)
	var walls []int64
	for wall, ok := r.fields.next(low - 1); ok && wall < high && len(walls) <= 3; wall, ok = r.fields.next(wall) {
		if slot := wall - c.before; slot > from && s.shows(slot*1000) {
			walls = append(walls, wall)
		}
	}
	if len(walls) == 0 {
		return ""
	}
	var effect string
	if c.after > c.before {
		switch {
		case r.elapsed:
			effect = "does not occur"
		case r.gap == GapSkip:
			effect = "is skipped"
		default:
			effect = "runs " + later(c.after-c.before)
			if len(walls) == 1 {
				effect = "runs at " + clock(walls[0]+c.after-c.before, walls[0])
			}
		}
	} else {
		effect = map[Fold]string{
			FoldFirst: "is shown twice and runs the first time",
			FoldLast:  "is shown twice and runs the last time",
			FoldBoth:  "is shown twice and runs both times",
		}[r.fold]
	}
	day := time.Unix(c.at+c.before, 0).UTC().Format(time.DateOnly)
	return fmt.Sprintf("%s: the clock in %s goes from %s to %s; %s %s", day, s.zone,
		clock(c.at+c.before, c.at+c.before), clock(c.at+c.after, c.at+c.before), clocks(walls), effect)
}

// shows reports whether a slot at the given millisecond is inside the window and on a day that is open.
func (s *Schedule) shows(slot int64) bool {
	return slot >= s.first && slot <= s.last && s.open(s.dateAt(slot))
}

// calendarNotes is how many days that are off Notes reports at most.
const calendarNotes = 5

// offNotes says which days in (from, until] are off and would have a slot. It leaves out the days that are usually off: see
// usuallyOff.
func (s *Schedule) offNotes(from, until time.Time) (notes []string) {
	if s.days == nil {
		return nil
	}
	for pos, limit := max(s.clamp(from), s.first-1), min(s.clamp(until), s.last); len(notes) < calendarNotes; {
		base, ok := s.nextOfAny(pos, limit)
		if !ok {
			break
		}
		day, end := s.dayAt(base)
		pos = end - 1
		if !s.days.on(day) && !s.excluded(day) && !s.days.usuallyOff(day) {
			notes = append(notes, s.off(day))
		}
	}
	return notes
}

// jumpNote says what becomes of slots that move from day source to times that the clock jumps over on day target; "" if there are
// none.
func (s *Schedule) jumpNote(source, target int64) (note string) {
	if _, even := s.midnight(target); even {
		return ""
	}
	walls := map[string][]int64{}
	for w := range s.wallsOn(source) {
		w.wall += (target - source) * secondsPerDay
		effect, at := "is skipped", s.showings(w)
		if len(at) > 0 {
			shown := at[0] + bounds(s.zone, at[0]).offset
			if shown == w.wall {
				continue
			}
			if s.open(floorDiv(shown, secondsPerDay)) {
				effect = "runs " + later(shown-w.wall)
			}
		}
		if !slices.Contains(walls[effect], w.wall) {
			walls[effect] = append(walls[effect], w.wall)
		}
	}
	for _, effect := range slices.Sorted(maps.Keys(walls)) {
		note += "; the clock jumps over " + clocks(walls[effect]) + " on that day, which " + effect
	}
	return note
}

// everyHour reports whether an expression matches in every hour of the day.
func (r *rule) everyHour() bool { return r.fields.hour == 1<<24-1 }

// clock formats a wall time, with its date if the other wall time is on another day.
func clock(wall, other int64) string {
	layout := "15:04"
	if wall%60 != 0 {
		layout = "15:04:05"
	}
	if floorDiv(wall, secondsPerDay) != floorDiv(other, secondsPerDay) {
		layout = "2006-01-02 " + layout
	}
	return time.Unix(wall, 0).UTC().Format(layout)
}

// later formats the length of a jump.
func later(seconds int64) string {
	length := (time.Duration(seconds) * time.Second).String()
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(length) + " later"
}

// clocks formats the first few wall times.
func clocks(walls []int64) string {
	var texts []string
	for _, w := range walls[:min(3, len(walls))] {
		texts = append(texts, clock(w, w))
	}
	if len(walls) > 3 {
		texts = append(texts, "…")
	}
	if len(texts) > 1 {
		return "each of " + strings.Join(texts, ", ")
	}
	return texts[0]
}
