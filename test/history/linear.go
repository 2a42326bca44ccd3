package history

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// undecided is how long it is tried to find an order of calls in which their answers make sense.
const undecided = 30 * time.Second

// checkAnswers sees to it that clients were answered as if each call took place at one instant between question and answer,
// or, if it was not answered, at any later one or never.
func (t *timeline) checkAnswers() {
	for what, calls := range partition(t.Calls) {
		switch result, _ := linearize(calls); result {
		case porcupine.Illegal:
			t.report(RuleAnswer, what, "no order of these calls explains their answers:\n\t"+strings.Join(tell(calls), "\n\t"))
		case porcupine.Unknown:
			t.report(RuleAnswer, what, fmt.Sprintf("%d calls are too many to find an order of them: make fewer for each run", len(calls)))
		}
	}
}

// DrawCalls writes a page that shows the calls about one run or job over time, and how far an order of them goes that
// explains their answers.
func DrawCalls(w io.Writer, h History, what string) error {
	_, info := linearize(partition(h.Calls)[what])
	return porcupine.Visualize(model, info, w)
}

// Called says whether there are calls about a run or job that DrawCalls can show.
func Called(h History, what string) bool { return len(partition(h.Calls)[what]) > 0 }

// tell describes the first calls.
func tell(calls []Call) (lines []string) {
	const most = 60
	for i, c := range calls {
		if i == most {
			return append(lines, fmt.Sprintf("and %d more", len(calls)-most))
		}
		lines = append(lines, fmt.Sprintf("%s to %s  %v", stamp(c.Asked), stamp(c.Answered), c))
	}
	return lines
}

// partition groups calls by what they are about: a run, or the pause of a job. A submission whose run nobody was told of
// is of no interest to others.
func partition(calls []Call) map[string][]Call {
	parts := make(map[string][]Call)
	runOf := make(map[submission]string)
	for _, c := range calls {
		if c.Kind == CallSubmit && c.Key != "" && c.Answer == Done {
			runOf[submission{c.Job, c.Key}] = c.Run
		}
	}
	for _, c := range calls {
		what := c.Run
		switch {
		case c.Kind == CallPause || c.Kind == CallResume:
			what = "the pause of job " + c.Job
		case c.Kind == CallSubmit && c.Key != "":
			what = runOf[submission{c.Job, c.Key}]
		}
		if what != "" {
			parts[what] = append(parts[what], c)
		}
	}
	for _, part := range parts {
		slices.SortStableFunc(part, func(a, b Call) int { return a.Asked.Compare(b.Asked) })
	}
	return parts
}

func linearize(calls []Call) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	var ops []porcupine.Operation
	// A run that a schedule made may have been there before all calls.
	born := !slices.ContainsFunc(calls, func(c Call) bool { return c.Kind == CallSubmit })
	for _, c := range calls {
		if c.Answer == Refused || c.Answer == Open && c.Kind == CallRun {
			continue // it says nothing
		}
		op := porcupine.Operation{ClientId: c.Client, Input: question{c, born}, Call: c.Asked.Sub(calls[0].Asked).Nanoseconds()}
		if op.Return = c.Answered.Sub(calls[0].Asked).Nanoseconds(); c.Answer == Open {
			op.Return = int64(1) << 62
			op.ClientId = len(ops) + 1000 // whoever asked goes on, and may ask the next thing meanwhile
		}
		ops = append(ops, op)
	}
	return porcupine.CheckOperationsVerbose(model, ops, undecided)
}

// question is a call, as input of the model.
type question struct {
	Call
	born bool // its run is not made by a call
}

// seen is what calls have shown of a run, or of the pause of a job.
type seen struct {
	exists bool
	rev    int64     // at least; exactly if state is known
	state  job.State // as of rev; empty if unknown
	ended  bool      // and will not change any more
	cancel bool
	paused string
}

// model is one run, or the pause of one job, as clients see it. What rota does with a run by itself may happen at any time:
// its record moves to a higher revision, until it has ended.
var model = porcupine.Model{
	Init: func() any { return seen{} },
	Step: func(state, input, _ any) (bool, any) {
		next, ok := state.(seen).after(input.(question))
		return ok, next
	},
	DescribeOperation: func(input, _ any) string { return input.(question).Call.String() },
	DescribeState: func(state any) string {
		s := state.(seen)
		return fmt.Sprintf("exists %t, %s at %d, ended %t, canceled %t, paused %q", s.exists, s.state, s.rev, s.ended, s.cancel, s.paused)
	},
}

// after is what is known after a call has taken place, and whether it can have been answered like that.
func (s seen) after(q question) (seen, bool) {
	switch q.Kind {
	case CallSubmit:
		return s.submit(q)
	case CallRun:
		if q.Answer == Absent {
			return s, !s.exists
		}
		return s.show(q)
	case CallCancel:
		return s.stop(q)
	default:
		return s.pause(q)
	}
}

func (s seen) submit(q question) (seen, bool) {
	switch {
	case q.Answer == Absent: // there is no such job
		return s, true
	case q.Answer == Open:
		s.exists = true
		return s, true
	case q.Created && s.exists, !q.Created && !s.exists:
		return s, false
	}
	s.exists = true
	return s.show(q)
}

// show is an answer that shows the run.
func (s seen) show(q question) (seen, bool) {
	switch {
	case !s.exists && !q.born, q.Rev < s.rev, s.cancel != q.Cancel,
		s.state != "" && q.Rev == s.rev && q.State != s.state,
		s.ended && (!q.State.Terminal() || s.state != "" && q.Rev != s.rev):
		return s, false
	}
	s.exists, s.rev, s.state, s.ended = true, q.Rev, q.State, q.State.Terminal()
	return s, true
}

func (s seen) stop(q question) (seen, bool) {
	switch q.Answer {
	case Absent:
		return s, !s.exists
	case Open:
		if (s.exists || q.born) && !s.ended && !s.cancel {
			s.cancel, s.state, s.rev = true, "", s.rev+1
		}
		return s, true
	case Ended:
		if !s.ended {
			s.ended, s.state = true, "" // and somebody may have canceled it before; what is shown later tells
		}
		return s, s.exists || q.born
	}
	if s.ended || !s.cancel && q.Cancel && q.Rev == s.rev && s.state != "" {
		return s, false
	}
	if !s.cancel && q.Cancel { // this one did it, unless rota had asked for it before
		s.cancel, s.state = true, ""
	}
	return s.show(q)
}

func (s seen) pause(q question) (seen, bool) {
	changes := (q.Kind == CallPause) == (s.paused == "")
	if q.Answer == Absent {
		return s, true
	}
	if changes {
		s.paused = q.Pause
		s.rev++
	}
	if q.Answer == Open {
		return s, true
	}
	ok := q.Paused == s.paused && q.Rev >= s.rev
	s.rev = q.Rev
	return s, ok
}
