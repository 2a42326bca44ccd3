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

// undecided is the time limit of the search for an order of calls that explains their answers.
const undecided = 30 * time.Second

// checkAnswers checks that the answers are linearizable: each call took effect at one instant between request and answer. A
// call without an answer took effect at any later instant or never.
func (t *timeline) checkAnswers() {
	for what, calls := range partition(t.Calls) {
		switch result, _ := linearize(calls); result {
		case porcupine.Illegal:
			t.report(RuleAnswer, what, "no order of these calls explains their answers:\n\t"+strings.Join(tell(calls), "\n\t"))
		case porcupine.Unknown:
			t.report(RuleAnswer, what, fmt.Sprintf("%d calls are too many to search for an order: send fewer for each run", len(calls)))
		}
	}
}

// DrawCalls writes a page with the calls about one run or job over time, and the longest order of them that explains their
// answers.
func DrawCalls(w io.Writer, h History, what string) error {
	_, info := linearize(partition(h.Calls)[what])
	return porcupine.Visualize(model, info, w)
}

// Called reports whether there are calls about a run or job that DrawCalls can show.
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

func linearize(calls []Call) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	var ops []porcupine.Operation
	// The run of a slot may exist before all calls. A job of the job files does exist before.
	born := !slices.ContainsFunc(calls, func(c Call) bool { return c.Kind == CallSubmit || c.Kind == CallPut })
	for _, c := range calls {
		if c.Answer == Refused || c.Answer == Open && (c.Kind == CallRun || c.Kind == CallRetry) {
			continue // it has no information
		}
		op := porcupine.Operation{ClientId: c.Client, Input: question{c, born}, Call: c.Asked.Sub(calls[0].Asked).Nanoseconds()}
		if op.Return = c.Answered.Sub(calls[0].Asked).Nanoseconds(); c.Answer == Open {
			op.Return = int64(1) << 62
			op.ClientId = len(ops) + 1000 // the client may send its next request before this one takes effect
		}
		ops = append(ops, op)
	}
	return porcupine.CheckOperationsVerbose(model, ops, undecided)
}

// question is a call, as input of the model.
type question struct {
	Call
	born bool // its run or job is not created by a call
}

// seen has the facts that the answers to calls have shown about a run or job.
type seen struct {
	exists bool
	rev    int64     // a lower bound; exact if state is known
	state  job.State // as of rev; empty if unknown
	ended  bool      // its record does not change any more
	cancel bool

	// Of a job, which only clients change.
	exact  bool // rev is known
	paused string
	text   string
}

// model is one run or one job as clients see it. rota may change a run by itself at any time: its record moves to a higher
// revision until it has ended.
var model = porcupine.Model{
	Init: func() any { return seen{} },
	Step: func(state, input, _ any) (bool, any) {
		next, ok := state.(seen).after(input.(question))
		return ok, next
	},
	DescribeOperation: func(input, _ any) string { return input.(question).Call.String() },
	DescribeState: func(state any) string {
		s := state.(seen)
		return fmt.Sprintf("exists %t, %s at %d, ended %t, canceled %t, paused %q, %q", s.exists, s.state, s.rev, s.ended, s.cancel, s.paused, s.text)
	},
}

// after returns the known facts after the call of q has taken effect. It reports false if the call cannot have its answer.
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
	case CallRetry:
		return s.again(q)
	case CallPut:
		return s.put(q)
	case CallDelete:
		return s.delete(q)
	default:
		return s.pause(q)
	}
}

func (s seen) submit(q question) (seen, bool) {
	switch {
	case q.Answer == Absent: // the job does not exist
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

// show handles an answer with the content of the run.
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
			s.ended, s.state = true, "" // a client may have canceled it before; a later answer shows it
		}
		return s, s.exists || q.born
	}
	if s.ended || !s.cancel && q.Cancel && q.Rev == s.rev && s.state != "" {
		return s, false
	}
	if !s.cancel && q.Cancel { // this call canceled it, unless rota had done so before
		s.cancel, s.state = true, ""
	}
	return s.show(q)
}

// again handles the answer to a retry of an ended run, which does not change that run.
func (s seen) again(q question) (seen, bool) {
	switch q.Answer {
	case Absent:
		return s, !s.exists
	case Early:
		return s, (s.exists || q.born) && !s.ended
	}
	if !s.ended { // the run has ended by now
		s.ended, s.state = true, ""
	}
	return s, s.exists || q.born
}

func (s seen) pause(q question) (seen, bool) {
	there := s.exists || q.born
	if q.Answer == Absent {
		return s, !s.exists
	}
	changes := there && (q.Kind == CallPause) == (s.paused == "")
	if changes {
		s.paused, s.exact = q.Pause, false
		s.rev++
	}
	if q.Answer == Open {
		return s, true
	}
	ok := there && q.Paused == s.paused && q.Rev >= s.rev && (q.born || q.Shown == s.text && (!s.exact || q.Rev == s.rev))
	s.rev, s.exact = q.Rev, true
	return s, ok
}

// put handles the answer to a put of a job.
func (s seen) put(q question) (seen, bool) {
	switch may, must := s.meets(q); {
	case q.Answer == Unmet:
		return s, !must
	case q.Answer != Done && q.Answer != Open:
		return s, false
	case !may:
		return s, q.Answer == Open
	}
	if created := !s.exists; created {
		s.paused = ""
		if q.Answer == Done && !q.Created {
			return s, false
		}
	} else if q.Answer == Done && q.Created {
		return s, false
	}
	s.exists, s.text, s.exact, s.rev = true, q.Text, q.Answer == Done, s.next(q)
	if q.Answer == Open {
		return s, true
	}
	ok := q.Rev >= s.rev && q.Shown == q.Text && q.Paused == s.paused
	s.rev = q.Rev
	return s, ok
}

// delete handles the answer to a removal of a job.
func (s seen) delete(q question) (seen, bool) {
	switch may, must := s.meets(q); {
	case q.Answer == Absent:
		return s, !s.exists
	case q.Answer == Unmet:
		return s, s.exists && !must
	case q.Answer != Done && q.Answer != Open:
		return s, false
	case !may || !s.exists:
		return s, q.Answer == Open
	}
	return seen{rev: s.next(q)}, true
}

// meets reports whether a job may meet the precondition of a call, and whether it certainly does.
func (s seen) meets(q question) (may, must bool) {
	switch {
	case q.New:
		return !s.exists, !s.exists
	case q.If == 0:
		return true, true
	case !s.exists || q.If < s.rev || s.exact && q.If != s.rev:
		return false, false
	}
	return true, s.exact
}

// next returns the least revision of a job after a call has changed it.
func (s seen) next(q question) int64 { return max(s.rev, q.If) + 1 }
