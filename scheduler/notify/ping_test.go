package notify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// pings lists the states of the pings in some notices, with their runs.
func pings(list []*notify.Notice) (found []string) {
	for _, n := range list {
		for _, to := range n.To {
			if to.Ping != nil {
				found = append(found, string(to.Ping.State)+" "+to.Ping.Run)
			}
		}
	}
	return found
}

func pinged() *job.Job {
	j := definedWith(job.Notifier{})
	j.Spec.Notify, j.Spec.Ping = nil, &job.Ping{URL: "https://check"}
	return j
}

// attempt is a run at an attempt that has begun.
func attempt(id string, number int, rev int64) *job.Run {
	return &job.Run{Job: "a", ID: id, State: job.Running, Started: later, Attempt: number, Rev: rev}
}

func TestPings(t *testing.T) {
	waits := &job.Run{Job: "a", ID: "1", State: job.Pending, Attempt: 1, Rev: 12}
	for name, tt := range map[string]struct {
		runs []*job.Run
		want []string
	}{
		"a run":                  {[]*job.Run{attempt("1", 1, 10), ended("1", job.Succeeded, 11)}, []string{"start a/1", "success a/1"}},
		"further changes of it":  {[]*job.Run{attempt("1", 1, 10), attempt("1", 1, 11)}, []string{"start a/1"}},
		"a repeated attempt":     {[]*job.Run{attempt("1", 1, 10), waits, attempt("1", 2, 13), ended("1", job.TimedOut, 14)}, []string{"start a/1", "failure a/1"}},
		"two runs":               {[]*job.Run{attempt("1", 1, 10), attempt("2", 1, 11), ended("2", job.Lost, 12)}, []string{"start a/1", "start a/2", "failure a/2"}},
		"a skipped run":          {[]*job.Run{ended("1", job.Skipped, 10)}, nil},
		"a canceled run":         {[]*job.Run{attempt("1", 1, 10), ended("1", job.Canceled, 11)}, []string{"start a/1"}},
		"an end without a start": {[]*job.Run{ended("1", job.Succeeded, 11)}, []string{"success a/1"}},
		"copies of a run": {[]*job.Run{
			{Job: "a", ID: "1.w1", Kind: job.KindCopy, On: "w1", State: job.Running, Rev: 10},
			{Job: "a", ID: "1.w1", Kind: job.KindCopy, On: "w1", State: job.Succeeded, Rev: 11}, ended("1", job.Failed, 12),
		}, []string{"failure a/1"}},
		"runs of an older leader": {[]*job.Run{ended("1", job.Succeeded, 5)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := book(6, pinged())
			for _, r := range tt.runs {
				b.Apply(change(r))
			}
			if diff := cmp.Diff(tt.want, pings(b.Take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The next leader repeats the pings that its predecessor has not recorded, and no others.
func TestNextLeaderPings(t *testing.T) {
	j := pinged()
	b := book(20, j)
	b.Open(j, &job.NotifyState{Job: "a", UpTo: 12, At: later}, []*job.Run{
		ended("1", job.Succeeded, 11), attempt("2", 1, 12), ended("3", job.Failed, 13), attempt("4", 1, 14),
	}, nil)
	b.Apply(change(attempt("2", 1, 21)))
	b.Apply(change(ended("2", job.Succeeded, 22)))
	want := []string{"failure a/3", "start a/4", "success a/2"}
	if diff := cmp.Diff(want, pings(b.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A job whose runs have ended takes no memory.
func TestPingsLeaveNoPage(t *testing.T) {
	b := book(6, pinged())
	b.Apply(change(attempt("1", 1, 10)))
	b.Apply(change(ended("1", job.Succeeded, 11)))
	for _, n := range b.Take() {
		for _, to := range n.To {
			b.Done(n.Receipt, to.Name)
		}
	}
	for _, r := range b.Records(later) {
		if r.UpTo != 11 {
			t.Errorf("the record is up to %d, want 11", r.UpTo)
		}
		b.Recorded(r, 12, nil)
	}
	if n := b.Pages(); n != 0 {
		t.Errorf("%d pages are left", n)
	}
}
