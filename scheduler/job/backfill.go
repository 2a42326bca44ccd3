package job

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Backfill is an order to run past slots of a job that had no run. Stored at backfills/<job>; a job has one record. The leader
// moves Position in the transaction that creates a slot's run, so a slot gets at most one run, in any term.
type Backfill struct {
	Job         string        `json:"job"`
	From        time.Time     `json:"from"` // the first slot may be at it
	To          time.Time     `json:"to"`   // the last slot may be at it
	Order       BackfillOrder `json:"order"`
	Concurrency int           `json:"concurrency"`      // backfilled runs that are with workers at a time
	Ranges      []SlotRange   `json:"ranges,omitempty"` // ascending: between From and To, slots that certainly had no run
	Total       int           `json:"total"`            // slots in Ranges
	Steps       []string      `json:"steps,omitempty"`  // the steps behind the job, which run for each slot; each follows its parents

	Position time.Time     `json:"position,omitzero"` // the slot that was decided last; zero: none was
	Started  int           `json:"started,omitempty"` // slots that got a run
	Passed   int           `json:"passed,omitempty"`  // slots that had a record already, and got no run
	State    BackfillState `json:"state"`
	Reason   string        `json:"reason,omitempty"`  // why it was stopped, or for what it has waited for some time
	Finished time.Time     `json:"finished,omitzero"` // of the last run, or of the stop

	By              string      `json:"by,omitempty"`
	Created         time.Time   `json:"created"`
	JobCreated      time.Time   `json:"job_created"`      // of the job; a job that was created again is another one
	SinceGeneration int64       `json:"since_generation"` // of the job; it changes with the schedule
	Past            []SlotRange `json:"past,omitempty"`   // what earlier backfills of the job have decided
	Term            int64       `json:"term,omitempty"`   // of the leader that last wrote it
	Op              string      `json:"op,omitempty"`     // id of the write that made this version

	Rev int64 `json:"-"`
}

// BackfillOrder is the order in which slots are backfilled.
type BackfillOrder string

// The orders of a backfill.
const (
	OldestFirst BackfillOrder = "asc"
	NewestFirst BackfillOrder = "desc"
)

// BackfillState says how far a backfill is.
type BackfillState string

// The states of a backfill. It leaves BackfillRunning once, and never returns.
const (
	BackfillRunning BackfillState = "running"
	BackfillDone    BackfillState = "done"    // each slot has a record, and all its runs have ended
	BackfillStopped BackfillState = "stopped" // by a person, or because the job changed; no further run is created
)

// The reasons with which the leader stops a backfill.
const (
	BackfillRescheduled = "the schedule was changed"
	BackfillEveryWorker = "the job runs on every worker"
	BackfillOfOldJob    = "the job was created again"
	BackfillOfOldSteps  = "the steps behind the job were changed"
)

// The bounds of a backfill.
const (
	MaxBackfillSlots       = 100_000
	MaxBackfillConcurrency = 1000
	maxSlotRanges          = 1000
)

// SlotRange is a stretch of time. Both ends belong to it.
type SlotRange struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Holds reports whether t lies in the range.
func (r SlotRange) Holds(t time.Time) bool { return !t.Before(r.From) && !t.After(r.To) }

// Check returns an error if a leader cannot act on b.
func (b *Backfill) Check() error {
	switch {
	case b.From.IsZero() || b.To.Before(b.From):
		return errors.New("it does not end after it begins")
	case b.Order != OldestFirst && b.Order != NewestFirst:
		return fmt.Errorf("order %.20q is not known", b.Order)
	case b.Concurrency < 1 || b.Concurrency > MaxBackfillConcurrency:
		return fmt.Errorf("concurrency %d is not between 1 and %d", b.Concurrency, MaxBackfillConcurrency)
	case b.State != BackfillRunning && b.State != BackfillDone && b.State != BackfillStopped:
		return fmt.Errorf("state %.20q is not known", b.State)
	case len(b.Ranges) > maxSlotRanges || len(b.Past) > maxSlotRanges:
		return fmt.Errorf("more than %d ranges", maxSlotRanges)
	}
	return nil
}

// Same reports whether o orders the same as b. Then a repeated request has no further effect.
func (b *Backfill) Same(o *Backfill) bool {
	return b.From.Equal(o.From) && b.To.Equal(o.To) && b.Order == o.Order && b.Concurrency == o.Concurrency
}

// Decided returns all ranges that this backfill and earlier ones have decided, ascending. Times outside of Ranges do not belong to
// them: the backfill left these slots alone, and a pause that has not ended yet may still skip them.
func (b *Backfill) Decided() []SlotRange {
	all, part := slices.Clone(b.Past), SlotRange{b.From, b.To}
	switch {
	case b.State == BackfillDone:
	case b.Position.IsZero():
		return mergeRanges(all)
	case b.Order == NewestFirst:
		part.From = b.Position
	default:
		part.To = b.Position
	}
	for _, r := range b.Ranges {
		if r = (SlotRange{Later(r.From, part.From), Earlier(r.To, part.To)}); !r.To.Before(r.From) {
			all = append(all, r)
		}
	}
	return mergeRanges(all)
}

// JoinRanges sorts ranges, and joins those that touch.
func JoinRanges(all []SlotRange) []SlotRange {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b SlotRange) int { return a.From.Compare(b.From) })
	return join(all, 0)
}

// mergeRanges is JoinRanges. If there are too many ranges, it also joins neighbours, so a slot between them counts as decided.
func mergeRanges(all []SlotRange) []SlotRange {
	merged := JoinRanges(all)
	for gap := time.Second; len(merged) > maxSlotRanges; gap *= 4 {
		merged = join(merged, gap)
	}
	return merged
}

func join(sorted []SlotRange, gap time.Duration) (merged []SlotRange) {
	for _, r := range sorted {
		if n := len(merged); n > 0 && !r.From.After(merged[n-1].To.Add(gap+1)) {
			merged[n-1].To = Later(merged[n-1].To, r.To)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// WithoutRanges returns the parts of ranges that lie in none of others. Both are ascending and merged. If there are too many
// parts, it drops the last ones.
func WithoutRanges(ranges, others []SlotRange) (parts []SlotRange) {
	for _, r := range ranges {
		from := r.From
		for _, o := range others {
			if o.To.Before(from) || o.From.After(r.To) {
				continue
			}
			if o.From.After(from) {
				parts = append(parts, SlotRange{from, o.From.Add(-1)})
			}
			from = o.To.Add(1)
		}
		if !from.After(r.To) {
			parts = append(parts, SlotRange{from, r.To})
		}
	}
	return parts[:min(len(parts), maxSlotRanges)]
}

// SlotFinder finds slots of a schedule.
type SlotFinder interface {
	Next(after time.Time) (time.Time, bool)
	Last(after, upTo time.Time, n int) []time.Time
}

// Next returns the slot that follows at in the order of the backfill; the zero time stands for its begin. false means that no
// slot is left.
func (b *Backfill) Next(when SlotFinder, at time.Time) (time.Time, bool) {
	if b.Order == NewestFirst {
		for _, r := range slices.Backward(b.Ranges) {
			to := r.To
			if !at.IsZero() {
				to = Earlier(to, at.Add(-1))
			}
			if slots := when.Last(r.From.Add(-1), to, 1); len(slots) == 1 && r.Holds(slots[0]) {
				return slots[0], true
			}
		}
		return time.Time{}, false
	}
	for _, r := range b.Ranges {
		from := r.From.Add(-1)
		if !at.IsZero() {
			from = Later(from, at)
		}
		if slot, ok := when.Next(from); ok && r.Holds(slot) {
			return slot, true
		}
	}
	return time.Time{}, false
}

// Stop returns the backfill, stopped.
func (b Backfill) Stop(reason string, now time.Time) Backfill {
	b.State, b.Reason, b.Finished = BackfillStopped, reason, now
	return b
}
