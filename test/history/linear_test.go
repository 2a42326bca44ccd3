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

func TestAnswers(t *testing.T) {
	for _, c := range slices.Concat(definitionAnswers, runAnswers, pauseAnswers) {
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

// TestSubmissions compares the answers to clients with the store.
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
		{"an accepted run is missing", Missed, kept, func(_ *testing.T, h *History) {
			h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool { return v.Key == "/rota/runs/"+kept })
			h.Effects = slices.DeleteFunc(h.Effects, func(e Effect) bool { return e.Run == kept })
		}},
		{"a rejected run exists", Unknown, kept, func(_ *testing.T, h *History) {
			h.Calls = []Call{{Kind: CallSubmit, Job: "order", Key: "kept", Answer: Refused}}
		}},
		{"a run without a request", Unknown, kept, func(_ *testing.T, h *History) {
			h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Run == kept })
		}},
		{"one key with two runs", Duplicate, "order/", func(t *testing.T, h *History) {
			edit(t, h, "runs/order/key-canceled", 0, func(r *job.Run) { r.Key = "kept" })
		}},
		{"a run without a key that no answer names", Unknown, "order", func(t *testing.T, h *History) {
			edit(t, h, "runs/"+kept, 0, func(r *job.Run) { r.Key = "" })
			h.Calls = slices.Delete(h.Calls, submitted(h), submitted(h)+1)
			h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Run == kept })
		}},
		{"the new run of a retry is missing", Missed, "order/again", func(_ *testing.T, h *History) {
			h.Calls = append(h.Calls, Call{Kind: CallRetry, Job: "order", Run: kept, Answer: Done, Made: "order/again", Asked: sec(12), Answered: sec(12.1)})
		}},
		{"a retry without a request", Unknown, kept, func(t *testing.T, h *History) {
			edit(t, h, "runs/"+kept, 0, func(r *job.Run) { r.Kind, r.RetryOf = job.KindRetry, "order/key-canceled" })
		}},
		{"a retry with a key that was not sent", Unknown, kept, func(t *testing.T, h *History) {
			edit(t, h, "runs/"+kept, 0, func(r *job.Run) { r.Kind, r.RetryOf = job.KindRetry, "order/key-canceled" })
			h.Calls = append(h.Calls, Call{Kind: CallRetry, Job: "order", Run: "order/key-canceled", Key: "another", Answer: Open, Asked: sec(3), Answered: sec(4)})
		}},
		{"one key with two retries", Duplicate, "order/", func(t *testing.T, h *History) {
			for _, name := range []string{kept, "order/key-canceled"} {
				edit(t, h, "runs/"+name, 0, func(r *job.Run) { r.Kind, r.RetryOf, r.Key = job.KindRetry, "order/old", "kept" })
			}
			h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Kind != CallCancel })
			h.Calls = append(h.Calls, Call{Kind: CallRetry, Job: "order", Run: "order/old", Key: "kept", Answer: Open})
		}},
		{"an answer with the run of a retry with another key", Unknown, kept, func(t *testing.T, h *History) {
			edit(t, h, "runs/"+kept, 0, func(r *job.Run) { r.Kind, r.RetryOf = job.KindRetry, "order/key-canceled" })
			h.Calls = append(h.Calls, Call{Kind: CallRetry, Job: "order", Run: "order/key-canceled", Key: "another", Answer: Done, Made: kept, Asked: sec(3), Answered: sec(4)})
		}},
		{"a retry with a key has the run of one without", Duplicate, kept, func(t *testing.T, h *History) {
			edit(t, h, "runs/"+kept, 0, func(r *job.Run) { r.Kind, r.RetryOf = job.KindRetry, "order/key-canceled" })
			call := Call{Kind: CallRetry, Job: "order", Run: "order/key-canceled", Answer: Done, Made: kept, Asked: sec(3), Answered: sec(4)}
			keyed := call
			keyed.Key = "kept"
			h.Calls = append(h.Calls, call, keyed)
		}},
		{"a cancel without a request", Unknown, "order/key-canceled", func(_ *testing.T, h *History) {
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
	t.Run("a retry with a key is sent twice", func(t *testing.T) {
		h := recorded(t)
		h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Run == kept })
		edit(t, &h, "runs/"+kept, 0, func(r *job.Run) { r.Kind, r.RetryOf = job.KindRetry, "order/key-canceled" })
		again := Call{Kind: CallRetry, Job: "order", Run: "order/key-canceled", Key: "kept", Answer: Open, Asked: sec(9.5), Answered: sec(9.6)}
		for _, change := range []func(*Call){nil, func(c *Call) { c.Answer, c.Made, c.State = Done, kept, job.Succeeded }} {
			if change != nil {
				change(&again)
			}
			h.Calls = append(h.Calls, again, again)
			if found := Check(h); len(found) > 0 {
				t.Errorf("violations:\n%s", lines(found))
			}
		}
	})
	t.Run("one that was not answered may be there", func(t *testing.T) {
		h := recorded(t)
		h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool { return c.Run == kept })
		h.Calls = append(h.Calls, Call{Kind: CallSubmit, Job: "order", Key: "kept", Answer: Open, Asked: sec(3), Answered: sec(4)})
		if found := Check(h); len(found) > 0 {
			t.Errorf("violations:\n%s", lines(found))
		}
	})
}

// answers is an API with the given answers.
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
func (a answers) DeleteJob(context.Context, string, api.Precondition) error { return a.err }
func (a answers) RetryOnce(context.Context, string, string) (api.RunView, bool, error) {
	return a.run, a.err == nil, a.err
}
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
		_, _, _ = c.RetryOnce(ctx, "order/k", "again")
	}
	for _, c := range []struct {
		err  error
		want string // the expected answers
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
