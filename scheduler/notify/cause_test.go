package notify_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// term is a leader in a story: it sends each notice at once.
type term struct {
	book    *notify.Book
	record  *job.NotifyState // in the store; nil: none
	written int              // records
	sent    []string
}

// lead begins a term with what the store has at a revision.
func (st *term) lead(j *job.Job, rev int64, runs []*job.Run) {
	st.book = notify.NewBook(rev, func(string) (*job.Job, *job.NotifyState) { return j, st.record })
	st.book.Open(j, st.record, runs, nil)
	st.send()
}

func (st *term) apply(r *job.Run) {
	st.book.Apply(change(r))
	st.send()
}

// send sends the notices and writes the records.
func (st *term) send() {
	for _, n := range st.book.Take() {
		for _, to := range n.To {
			st.sent = append(st.sent, fmt.Sprintf("%s to %s at %s", to.Occasion, to.Name, n.Run.ID))
			st.book.Done(n.Receipt, to.Name)
		}
	}
	for _, r := range st.book.Records(later) {
		st.written++
		r.Rev = int64(1_000_000 + st.written)
		st.record = &r
		st.book.Recorded(r, r.Rev, nil)
	}
}

// A job fails each second for ten minutes. There is one message, one reminder for each repeat, and one recovery, no matter how
// often the leader changes. The record is written only with a message.
func TestOneMessageForEachCause(t *testing.T) {
	for name, tt := range map[string]struct {
		notifier job.Notifier
		want     []string
		writes   int
	}{
		"by default": {job.Notifier{}, []string{"failure to ops at 1", "recovery to ops at 601"}, 2},
		"repeated":   {job.Notifier{Repeat: job.Duration(4 * time.Minute)}, []string{"failure to ops at 1", "failure to ops at 241", "failure to ops at 481", "recovery to ops at 601"}, 4},
		"after three failures": {
			job.Notifier{After: 3, Repeat: job.Duration(4 * time.Minute)},
			[]string{"failure to ops at 3", "failure to ops at 243", "failure to ops at 483", "recovery to ops at 601"}, 6,
		},
		"after more failures than there are": {job.Notifier{After: 1000}, nil, 601},
		"only recoveries":                    {job.Notifier{When: []job.Occasion{job.OnRecovery}}, []string{"recovery to ops at 601"}, 2},
		"only lost runs":                     {job.Notifier{When: []job.Occasion{job.OnLost}}, nil, 1},
	} {
		for _, every := range []int{1000, 50, 7} { // the leader changes after so many runs
			t.Run(fmt.Sprintf("%s, new leaders after %d runs", name, every), func(t *testing.T) {
				tt.notifier.URL = "ntfy://x/y"
				j := definedWith(tt.notifier)
				var st term
				var runs []*job.Run
				st.lead(j, 9, nil)
				for n := 1; n <= 605; n++ {
					r := ended(strconv.Itoa(n), job.Failed, int64(9+n))
					if n > 600 {
						r.State = job.Succeeded
					}
					r.Finished = later.Add(time.Duration(n) * time.Second)
					runs = append(runs, r)
					if n%every == 0 {
						st.lead(j, r.Rev, runs[max(0, len(runs)-100):]) // history has removed the others
					} else {
						st.apply(r)
					}
				}
				if diff := cmp.Diff(tt.want, st.sent); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if st.written != tt.writes {
					t.Errorf("%d records were written, want %d", st.written, tt.writes)
				}
				if n := st.book.Pages(); n != 0 && tt.want != nil {
					t.Errorf("%d pages are open", n)
				}
			})
		}
	}
}

// Each cause of a job has its own message.
func TestCausesAreIndependent(t *testing.T) {
	missed := func(id string, rev int64) *job.Run {
		r := ended(id, job.Skipped, rev)
		r.Reason = "missed: nobody could dispatch at its time, and the job's policy is none"
		return r
	}
	late := ended("5", job.Succeeded, 14)
	late.Late = true
	b := book(6, definedWith(job.Notifier{URL: "ntfy://x/y"}))
	for _, r := range []*job.Run{
		missed("1", 10), missed("2", 11), ended("3", job.Failed, 12), ended("4", job.Failed, 13), late, missed("6", 15),
		ended("7", job.Succeeded, 16), missed("8", 17),
	} {
		b.Apply(change(r))
	}
	want := []string{"ops missed 1", "ops failure 3", "ops recovery 5", "ops missed 8"}
	if diff := cmp.Diff(want, summarize(b.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A record of version 0.1.0 does not count failures: it has reported each one.
func TestRecoveryAfterAnEarlierVersion(t *testing.T) {
	j := definedWith(job.Notifier{URL: "ntfy://x/y", After: 5})
	b := book(20, j)
	b.Open(j, &job.NotifyState{Job: "a", UpTo: 10, Failing: "1", At: later}, []*job.Run{ended("1", job.Failed, 10)}, nil)
	b.Apply(change(ended("2", job.Succeeded, 21)))
	if diff := cmp.Diff([]string{"ops recovery 2"}, summarize(b.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of a run on every worker, only the run itself is reported, whatever its copies do.
func TestCopiesAreNoCauses(t *testing.T) {
	copied := func(id string, state job.State, rev int64) *job.Run {
		r := ended(id, state, rev)
		r.Kind = job.KindCopy
		return r
	}
	for name, tt := range map[string]struct {
		notifier job.Notifier
		runs     []*job.Run
		want     []string
	}{
		"one worker of two fails": {job.Notifier{}, []*job.Run{
			ended("1", job.Failed, 10), copied("2.w1", job.Succeeded, 11), copied("2.w2", job.Failed, 12), ended("2", job.Failed, 13),
			copied("3.w1", job.Succeeded, 14), ended("3", job.Succeeded, 15),
		}, []string{"failure to ops at 1", "recovery to ops at 3"}},
		"each worker fails, and a message needs three failures": {job.Notifier{After: 3}, []*job.Run{
			ended("1", job.Failed, 10), copied("2.w1", job.Failed, 11), copied("2.w2", job.Failed, 12), ended("2", job.Failed, 13),
			ended("3", job.Failed, 14),
		}, []string{"failure to ops at 3"}},
	} {
		for _, led := range []int{0, 3} { // runs that the leader finds in the store
			t.Run(fmt.Sprintf("%s, %d before the term", name, led), func(t *testing.T) {
				tt.notifier.URL = "ntfy://x/y"
				var st term
				st.lead(definedWith(tt.notifier), int64(9+led), tt.runs[:led])
				for _, r := range tt.runs[led:] {
					st.apply(r)
				}
				if diff := cmp.Diff(tt.want, st.sent); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}
