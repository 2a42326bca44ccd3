package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// said is a call about the run order/k: asked and answered at so many seconds.
func said(client int, kind CallKind, asked, answered float64, answer Answer, change func(*Call)) Call {
	c := Call{Client: client, Kind: kind, Job: "order", Run: "order/k", Asked: sec(asked), Answered: sec(answered), Answer: answer}
	if kind == CallSubmit {
		c.Key = "k"
		if answer != Done {
			c.Run = ""
		}
	}
	if change != nil {
		change(&c)
	}
	return c
}

func shows(state job.State, rev int64) func(*Call) {
	return func(c *Call) { c.State, c.Rev = state, rev }
}

func creates(rev int64) func(*Call) {
	return func(c *Call) { c.Created, c.State, c.Rev = true, job.Pending, rev }
}

func canceled(state job.State, rev int64) func(*Call) {
	return func(c *Call) { c.Cancel, c.State, c.Rev = true, state, rev }
}

func TestAnswers(t *testing.T) {
	pause := func(client int, asked, answered float64, reason, shown string, rev int64, answer Answer) Call {
		return said(client, CallPause, asked, answered, answer, func(c *Call) { c.Run, c.Pause, c.Paused, c.Rev = "", reason, shown, rev })
	}
	resume := func(client int, asked, answered float64, shown string, rev int64) Call {
		return said(client, CallResume, asked, answered, Done, func(c *Call) { c.Run, c.Paused, c.Rev = "", shown, rev })
	}
	put := func(client int, asked, answered float64, text string, answer Answer, change func(*Call)) Call {
		return said(client, CallPut, asked, answered, answer, func(c *Call) {
			c.Run, c.Text = "", text
			if answer == Done {
				c.Shown = text
			}
			change(c)
		})
	}
	at := func(rev int64) func(*Call) { return func(c *Call) { c.Rev = rev } }
	fresh := func(rev int64) func(*Call) { return func(c *Call) { c.Rev, c.Created = rev, true } }
	onlyNew := func(rev int64) func(*Call) { return func(c *Call) { c.Rev, c.New, c.Created = rev, true, rev > 0 } }
	onlyAt := func(rev, then int64) func(*Call) { return func(c *Call) { c.If, c.Rev = rev, then } }
	remove := func(client int, asked, answered float64, answer Answer, only int64) Call {
		return said(client, CallDelete, asked, answered, answer, func(c *Call) { c.Run, c.If = "", only })
	}
	showing := func(c Call, text string) Call { c.Shown = text; return c }
	retry := func(client int, asked, answered float64, answer Answer) Call {
		return said(client, CallRetry, asked, answered, answer, func(c *Call) { c.Made = "order/again" })
	}
	for _, c := range []struct {
		name  string
		ok    bool
		calls []Call
	}{
		{"a job's life", true, []Call{
			put(0, 1, 2, "a", Done, onlyNew(5)),
			put(1, 3, 4, "b", Unmet, onlyNew(0)),
			put(1, 5, 6, "c", Done, onlyAt(5, 6)),
			put(0, 7, 8, "d", Unmet, onlyAt(5, 0)),
			put(0, 9, 10, "e", Done, at(7)),
			showing(pause(1, 11, 12, "x", "x", 8, Done), "e"),
			put(0, 13, 14, "f", Done, func(c *Call) { c.If, c.Rev, c.Paused = 8, 9, "x" }),
			remove(1, 15, 16, Unmet, 8),
			remove(1, 17, 18, Done, 9),
			remove(0, 19, 20, Absent, 0),
			said(0, CallPause, 21, 22, Absent, func(c *Call) { c.Run = "" }),
			put(1, 23, 24, "g", Unmet, onlyAt(9, 0)),
			put(1, 25, 26, "h", Done, fresh(11)),
			showing(resume(0, 27, 28, "", 11), "h"),
		}},
		{"a lost put", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(1, 3, 4, "b", Done, at(6)),
			showing(resume(0, 5, 6, "", 6), "a"),
		}},
		{"a put that was told and not made", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(1, 3, 4, "b", Done, fresh(6)),
		}},
		{"two make one job", false, []Call{
			put(0, 1, 4, "a", Done, onlyNew(5)),
			put(1, 2, 3, "b", Done, onlyNew(6)),
		}},
		{"two change one revision", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(0, 3, 5, "b", Done, onlyAt(5, 6)),
			put(1, 4, 6, "c", Done, onlyAt(5, 7)),
		}},
		{"one of two changes one revision", true, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(0, 3, 5, "b", Unmet, onlyAt(5, 0)),
			put(1, 4, 6, "c", Done, onlyAt(5, 7)),
		}},
		{"none of two changes one revision", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(0, 3, 5, "b", Unmet, onlyAt(5, 0)),
			put(1, 4, 6, "c", Unmet, onlyAt(5, 0)),
		}},
		{"a revision that goes back", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(0, 3, 5, "b", Done, at(4)),
		}},
		{"a put that was refused, and took place", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(1, 3, 4, "b", Unmet, onlyAt(4, 0)),
			showing(resume(0, 5, 6, "", 6), "b"),
		}},
		{"an open put took place", true, []Call{
			put(0, 1, 2, "a", Open, onlyNew(0)),
			put(1, 3, 4, "b", Unmet, onlyNew(0)),
			showing(resume(0, 5, 6, "", 6), "a"),
			put(1, 7, 8, "c", Done, onlyAt(6, 7)),
		}},
		{"an open put did not", true, []Call{
			put(0, 1, 2, "a", Open, onlyNew(0)),
			put(1, 3, 4, "b", Done, onlyNew(5)),
			showing(resume(0, 5, 6, "", 5), "b"),
		}},
		{"an open put takes place late", true, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(1, 3, 4, "b", Open, at(0)),
			put(0, 5, 6, "c", Done, at(6)),
			showing(resume(0, 7, 8, "", 7), "b"),
		}},
		{"an open put takes place at a revision that it must not", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(1, 3, 4, "b", Open, onlyAt(5, 0)),
			put(0, 5, 6, "c", Done, onlyAt(5, 6)),
			showing(resume(0, 7, 8, "", 7), "b"),
		}},
		{"a lost removal", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			remove(0, 3, 4, Done, 0),
			put(1, 5, 6, "b", Done, at(6)),
		}},
		{"a removal that was told of what was not there", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			remove(0, 3, 4, Absent, 0),
		}},
		{"removed once, and told twice", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			remove(0, 3, 6, Done, 5),
			remove(1, 4, 5, Done, 0),
		}},
		{"removed by nobody", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			put(1, 3, 4, "b", Done, fresh(6)),
		}},
		{"an open removal takes place", true, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			remove(0, 3, 4, Open, 0),
			put(1, 5, 6, "b", Done, at(6)),
			remove(1, 7, 8, Absent, 0),
		}},
		{"an open removal that must not does not", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			remove(0, 3, 4, Open, 4),
			remove(1, 7, 8, Absent, 0),
		}},
		{"a removal forgets the pause", false, []Call{
			put(0, 1, 2, "a", Done, fresh(5)),
			showing(pause(1, 3, 4, "x", "x", 6, Done), "a"),
			remove(0, 5, 6, Done, 6),
			put(1, 7, 8, "b", Done, func(c *Call) { c.Created, c.Rev, c.Paused = true, 8, "x" }),
		}},
		{"done again when it had ended", true, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			retry(1, 3, 4, Early),
			retry(0, 5, 6, Done),
			said(1, CallRun, 7, 8, Done, shows(job.Failed, 9)),
			retry(0, 9, 10, Done),
			retry(0, 11, 12, Open),
		}},
		{"done again before it had ended", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			retry(0, 3, 4, Done),
			said(1, CallRun, 5, 6, Done, shows(job.Running, 9)),
		}},
		{"not done again, though it had ended", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(1, CallRun, 3, 4, Done, shows(job.Succeeded, 9)),
			retry(0, 5, 6, Early),
		}},
		{"done again, and there was no such run", false, []Call{
			retry(0, 1, 2, Done),
			said(0, CallSubmit, 3, 4, Done, creates(5)),
		}},
		{"a run's life", true, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallRun, 3, 4, Done, shows(job.Pending, 5)),
			said(1, CallRun, 5, 6, Done, shows(job.Running, 7)),
			said(0, CallRun, 7, 8, Done, shows(job.Succeeded, 9)),
			said(1, CallSubmit, 9, 10, Done, shows(job.Succeeded, 9)),
		}},
		{"a stale read", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallRun, 3, 4, Done, shows(job.Running, 7)),
			said(1, CallRun, 5, 6, Done, shows(job.Pending, 5)),
		}},
		{"no stale read, since they overlap", true, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallRun, 3, 6, Done, shows(job.Running, 7)),
			said(1, CallRun, 5, 7, Done, shows(job.Pending, 5)),
		}},
		{"a lost submission", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(1, CallRun, 3, 4, Absent, nil),
		}},
		{"made twice", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(1, CallSubmit, 3, 4, Done, creates(6)),
		}},
		{"found before it was made", false, []Call{
			said(1, CallSubmit, 1, 2, Done, shows(job.Pending, 5)),
			said(0, CallSubmit, 3, 4, Done, creates(5)),
		}},
		{"one of two at a time makes it", true, []Call{
			said(0, CallSubmit, 1, 4, Done, creates(5)),
			said(1, CallSubmit, 2, 3, Done, shows(job.Pending, 5)),
		}},
		{"an open submission took place", true, []Call{
			said(0, CallSubmit, 1, 2, Open, nil),
			said(0, CallSubmit, 3, 4, Done, shows(job.Pending, 5)),
		}},
		{"an open submission did not", true, []Call{
			said(0, CallSubmit, 1, 2, Open, nil),
			said(0, CallSubmit, 3, 4, Done, creates(5)),
		}},
		{"an open submission takes place late", true, []Call{
			said(0, CallSubmit, 1, 2, Open, nil),
			said(1, CallRun, 3, 4, Absent, nil),
			said(1, CallSubmit, 5, 6, Done, shows(job.Pending, 5)),
		}},
		{"a refused submission took place", false, []Call{
			said(0, CallSubmit, 1, 2, Refused, nil),
			said(0, CallSubmit, 3, 4, Done, shows(job.Pending, 5)),
		}},
		{"an end is taken back", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallRun, 3, 4, Done, shows(job.Failed, 7)),
			said(0, CallRun, 5, 6, Done, shows(job.Succeeded, 8)),
		}},
		{"canceled", true, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallCancel, 3, 4, Done, canceled(job.Canceled, 6)),
			said(1, CallRun, 5, 6, Done, canceled(job.Canceled, 6)),
			said(1, CallCancel, 7, 8, Ended, nil),
		}},
		{"canceled while it runs, and it ends well all the same", true, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallCancel, 3, 4, Done, canceled(job.Running, 8)),
			said(1, CallCancel, 4, 5, Done, canceled(job.Running, 8)),
			said(1, CallRun, 5, 6, Done, canceled(job.Succeeded, 9)),
		}},
		{"a lost cancel", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallCancel, 3, 4, Done, canceled(job.Running, 8)),
			said(1, CallRun, 5, 6, Done, shows(job.Running, 9)),
		}},
		{"an open cancel, that took place", true, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallCancel, 3, 4, Open, nil),
			said(1, CallRun, 5, 6, Done, shows(job.Running, 8)),
			said(1, CallRun, 7, 8, Done, canceled(job.Canceled, 9)),
		}},
		{"canceled by nobody", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(1, CallRun, 5, 6, Done, canceled(job.Canceled, 9)),
			said(1, CallCancel, 7, 8, Ended, nil),
		}},
		{"a cancel that was refused as too late, and was not", false, []Call{
			said(0, CallSubmit, 1, 2, Done, creates(5)),
			said(0, CallCancel, 3, 4, Ended, nil),
			said(1, CallRun, 5, 6, Done, shows(job.Running, 9)),
		}},
		{"a slot's run, which nobody submitted", true, []Call{
			said(0, CallRun, 1, 2, Absent, nil),
			said(0, CallRun, 3, 4, Done, shows(job.Running, 9)),
			said(0, CallCancel, 5, 6, Done, canceled(job.Running, 10)),
		}},
		{"a slot's run, and a stale read", false, []Call{
			said(0, CallRun, 3, 4, Done, shows(job.Running, 9)),
			said(0, CallRun, 5, 6, Done, shows(job.Armed, 8)),
		}},
		{"paused and resumed", true, []Call{
			pause(0, 1, 2, "x", "x", 5, Done),
			pause(1, 3, 4, "y", "x", 5, Done),
			resume(1, 5, 6, "", 6),
			resume(0, 7, 8, "", 6),
			pause(1, 9, 10, "z", "z", 7, Done),
		}},
		{"a lost pause", false, []Call{
			pause(0, 1, 2, "x", "x", 5, Done),
			pause(1, 3, 4, "y", "y", 6, Done),
		}},
		{"an open pause takes place after it was resumed", true, []Call{
			pause(0, 1, 2, "x", "", 0, Open),
			resume(1, 3, 4, "", 5),
			pause(1, 5, 6, "y", "x", 6, Done),
		}},
		{"a pause by nobody", false, []Call{
			pause(1, 5, 6, "y", "x", 6, Done),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := newTimeline(History{Calls: c.calls})
			tl.checkAnswers()
			if ok := len(tl.found) == 0; ok != c.ok {
				t.Errorf("got %t, want %t:\n%s", ok, c.ok, lines(tl.found))
			}
			for what := range partition(c.calls) {
				var page bytes.Buffer
				if err := DrawCalls(&page, tl.History, what); err != nil || !strings.Contains(page.String(), "<html") {
					t.Errorf("picture of %s: %d bytes, %v", what, page.Len(), err)
				}
			}
		})
	}
}

// TestSubmissions compares what clients were told with what is in the store.
func TestSubmissions(t *testing.T) {
	const kept = "order/key-kept"
	submitted := func(h *History) int {
		return slices.IndexFunc(h.Calls, func(c Call) bool { return c.Kind == CallSubmit && c.Run == kept })
	}
	for _, c := range []struct {
		name  string
		grade Grade
		what  string
		bend  func(t *testing.T, h *History)
	}{
		{"one that was accepted is not there", Missed, kept, func(_ *testing.T, h *History) {
			h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool { return v.Key == "/rota/runs/"+kept })
			h.Effects = slices.DeleteFunc(h.Effects, func(e Effect) bool { return e.Run == kept })
		}},
		{"one that was refused is there", Unknown, kept, func(_ *testing.T, h *History) {
			h.Calls = []Call{{Kind: CallSubmit, Job: "order", Key: "kept", Answer: Refused}}
		}},
		{"one that nobody asked for", Unknown, kept, func(_ *testing.T, h *History) {
			h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Run == kept })
		}},
		{"one key with two runs", Duplicate, "order/", func(t *testing.T, h *History) {
			edit(t, h, "runs/order/key-canceled", 0, func(r *job.Run) { r.Key = "kept" })
		}},
		{"without a key, and nobody was told", Unknown, "order", func(t *testing.T, h *History) {
			edit(t, h, "runs/"+kept, 0, func(r *job.Run) { r.Key = "" })
			h.Calls = slices.Delete(h.Calls, submitted(h), submitted(h)+1)
			h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Run == kept })
		}},
		{"one that was done again, and is not there", Missed, "order/again", func(_ *testing.T, h *History) {
			h.Calls = append(h.Calls, Call{Kind: CallRetry, Job: "order", Run: kept, Answer: Done, Made: "order/again", Asked: sec(12), Answered: sec(12.1)})
		}},
		{"one that was done again, for which nobody asked", Unknown, kept, func(t *testing.T, h *History) {
			edit(t, h, "runs/"+kept, 0, func(r *job.Run) { r.Kind, r.RetryOf = job.KindRetry, "order/key-canceled" })
		}},
		{"one that was canceled, for which nobody asked", Unknown, "order/key-canceled", func(_ *testing.T, h *History) {
			h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Kind == CallCancel })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := recorded(t)
			c.bend(t, &h)
			v := Judge(h)
			if !slices.ContainsFunc(v.Violations, func(v Violation) bool { return v.Rule == RuleAnswer && strings.HasPrefix(v.What, c.what) }) {
				t.Errorf("it was not found:\n%s", lines(v.Violations))
			}
			if strings.Contains(c.what, "/") && v.Grades[c.grade] == 0 {
				t.Errorf("no %v in %v", c.grade, v.Grades)
			}
		})
	}
	t.Run("one that was not answered may be there", func(t *testing.T) {
		h := recorded(t)
		h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Run == kept })
		h.Calls = append(h.Calls, Call{Kind: CallSubmit, Job: "order", Key: "kept", Answer: Open, Asked: sec(3), Answered: sec(4)})
		if found := Check(h); len(found) > 0 {
			t.Errorf("violations:\n%s", lines(found))
		}
	})
}

// answers is an API that answers what it is told to.
type answers struct {
	run api.RunView
	job api.JobView
	err error
}

func (a answers) Submit(context.Context, string, api.RunRequest) (api.RunView, bool, error) {
	return a.run, a.err == nil, a.err
}
func (a answers) Run(context.Context, string) (api.RunView, error)              { return a.run, a.err }
func (a answers) Cancel(context.Context, string, string) (api.RunView, error)   { return a.run, a.err }
func (a answers) PauseJob(context.Context, string, string) (api.JobView, error) { return a.job, a.err }
func (a answers) PutJob(context.Context, string, job.Spec, api.Precondition) (api.JobView, bool, error) {
	return a.job, a.err == nil, a.err
}
func (a answers) DeleteJob(context.Context, string, api.Precondition) error      { return a.err }
func (a answers) Retry(context.Context, string) (api.RunView, error)             { return a.run, a.err }
func (a answers) ResumeJob(context.Context, string, string) (api.JobView, error) { return a.job, a.err }

func TestCallsAreRecorded(t *testing.T) {
	run := api.NewRunView(job.Run{Job: "order", ID: "k", State: job.Running, Rev: 7, Cancel: &job.Cancel{By: "alice"}})
	paused := api.JobView{Job: job.Job{Name: "order", Paused: &job.Pause{Reason: "x"}, Spec: &job.Spec{Description: "what it is"}}, Revision: 9}
	refused := func(status int) error { return fmt.Errorf("asked: %w", &client.Error{Status: status}) }
	all := func(c *Client) {
		ctx := t.Context()
		_, _, _ = c.Submit(ctx, "order", api.RunRequest{Key: "k"})
		_, _ = c.Run(ctx, "order/k")
		_, _ = c.Cancel(ctx, "order/k", "why")
		_, _ = c.PauseJob(ctx, "order", "x")
		_, _ = c.ResumeJob(ctx, "order", "y")
		_, _, _ = c.PutJob(ctx, "order", job.Spec{Description: "d"}, api.Precondition{Revision: 4})
		_ = c.DeleteJob(ctx, "order", api.Precondition{Revision: 3})
		_, _ = c.Retry(ctx, "order/k")
	}
	for _, c := range []struct {
		err  error
		want string // the answers
	}{
		{nil, "done done done done done done done done"},
		{refused(404), "absent absent absent absent absent absent absent absent"},
		{refused(409), "refused refused ended refused refused refused refused early"},
		{refused(422), "refused refused refused refused refused refused refused refused"},
		{refused(412), "unmet unmet unmet unmet unmet unmet unmet unmet"},
		{refused(503), "open open open open open open open open"},
		{context.DeadlineExceeded, "open open open open open open open open"},
		{&client.Unreachable{Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, "refused refused refused refused refused refused refused refused"},
		{&client.Unreachable{Err: &net.OpError{Op: "read", Err: errors.New("reset")}}, "open open open open open open open open"},
	} {
		var calls Calls
		all(calls.Client(answers{run, paused, c.err}))
		var got []string
		for _, call := range calls.All() {
			got = append(got, string(call.Answer))
			if call.Answered.Before(call.Asked) || call.Job != "order" {
				t.Errorf("%+v", call)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
	var calls Calls
	all(calls.Client(answers{run: run, job: paused}))
	all(calls.Client(answers{run: run, job: paused}))
	list := calls.All()
	if s := list[0]; s.Run != "order/k" || s.Key != "k" || !s.Created || s.State != job.Running || s.Rev != 7 || !s.Cancel {
		t.Errorf("submission: %+v", s)
	}
	if p := list[3]; p.Pause != "x" || p.Paused != "x" || p.Rev != 9 {
		t.Errorf("pause: %+v", p)
	}
	if p := list[5]; p.Text != "d" || p.If != 4 || p.New || !p.Created || p.Rev != 9 || p.Paused != "x" || p.Shown != "what it is" {
		t.Errorf("put: %+v", p)
	}
	if d := list[6]; d.If != 3 || d.Answer != Done {
		t.Errorf("removal: %+v", d)
	}
	if r := list[7]; r.Run != "order/k" || r.Made != "order/k" {
		t.Errorf("retry: %+v", r)
	}
	if list[0].Client != 0 || list[8].Client != 1 {
		t.Errorf("clients: %d, %d", list[0].Client, list[8].Client)
	}
	if time.Since(list[0].Asked) > time.Minute {
		t.Errorf("asked at %v", list[0].Asked)
	}
}
