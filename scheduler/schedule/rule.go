package schedule

import "time"

// rule is one source of slots: a period or a cron expression.
type rule struct {
	period int64   // milliseconds; 0 if the rule is an expression
	fields *fields // nil if the rule is a period
	// elapsed marks an expression that follows elapsed time. Its gap is GapSkip and its fold is FoldBoth, so it has a
	// slot whenever the clock shows a match.
	elapsed bool
	gap     Gap
	fold    Fold
}

// next returns the rule's first slot after the given millisecond, if it is at most limit.
func (r *rule) next(zone *time.Location, after, limit int64) (int64, bool) {
	if r.period > 0 {
		slot := (floorDiv(after, r.period) + 1) * r.period
		return slot, slot <= limit
	}
	slot, ok := r.nextSecond(zone, floorDiv(after, 1000), floorDiv(limit, 1000))
	return slot * 1000, ok
}

// nextSecond does the same as next for an expression. Its times are in seconds.
//
// Time is divided into spans of one offset, within which the wall clock runs evenly. A span has two kinds of slots: the times
// that its clock shows, and, after a gap, the skipped times, moved forward. The two kinds mix, so the earlier candidate is the
// next slot. Later spans have only later slots.
func (r *rule) nextSecond(zone *time.Location, after, limit int64) (int64, bool) {
	for pos := after + 1; pos <= limit; {
		s := spanAt(zone, pos)
		slot, found := int64(0), false
		from := pos
		if pos-s.start < reach && (r.gap == GapRun || r.fold == FoldFirst) {
			before := bounds(zone, s.start-1).offset
			switch {
			case before < s.offset && r.gap == GapRun:
				wall, ok := r.fields.next(pos + before - 1)
				slot, found = wall-before, ok && wall < s.start+s.offset
			case before > s.offset && r.fold == FoldFirst:
				from = max(from, s.start+before-s.offset) // before this second, the clock shows times that it has already shown
			}
		}
		wall, ok := r.fields.next(from + s.offset - 1)
		if !ok {
			return 0, false
		}
		if shown := wall - s.offset; shown < s.end && !r.repeated(zone, s, shown) && (!found || shown < slot) {
			slot, found = shown, true
		}
		if found {
			return slot, slot <= limit
		}
		next := s.end
		if s.end-from > reach {
			// wall is the next wall time that matches. So the first slot after this span is at wall or
			// shortly before it, depending on the offset of its span.
			next = max(next, wall-2*reach)
		}
		pos = next
	}
	return 0, false
}

// repeated reports whether the clock shows t again after the span s, and the rule uses only that last showing.
func (r *rule) repeated(zone *time.Location, s span, t int64) bool {
	if r.fold != FoldLast || s.end-t > reach {
		return false
	}
	s = extended(zone, s)
	return t >= s.end+bounds(zone, s.end).offset-s.offset
}

// matches reports whether the expression of the rule matches a wall time.
func (r *rule) matches(wall int64) bool {
	next, ok := r.fields.next(wall - 1)
	return ok && next == wall
}
