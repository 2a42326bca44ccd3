package timeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

func outage(node, cause string, from, to float64) *job.Event {
	o := out(node, from, to)
	return &job.Event{ID: node, Kind: job.EventOutage, Node: node, Cause: cause, At: o.From, From: o.From, To: o.Until}
}

func leads(node, previous string, from, since float64) *job.Event {
	return &job.Event{ID: node + previous, Kind: job.EventLeader, Node: node, Previous: previous, From: at(from), At: at(since)}
}

func lostAttempt(name string, seconds float64, state job.State) *job.Run {
	lost := job.Attempt{Number: 1, Worker: "q3", State: job.Lost, Finished: at(seconds), GivenUp: true}
	r := &job.Run{Job: name, ID: "x", State: state, Attempts: []job.Attempt{lost}}
	if state.Terminal() {
		r.Finished = at(seconds)
	}
	return r
}

func lateRun(name string, late float64) *job.Run {
	return &job.Run{Job: name, ID: "x", State: job.Succeeded, Late: true, Slot: at(60), Started: at(60 + late)}
}

// TestIncident compares the summaries of whole incidents. To the operator, these sentences are the product.
func TestIncident(t *testing.T) {
	three := timeline.Members{Expected: 3, Present: 2}
	all := timeline.Members{Expected: 3, Present: 3, Tolerated: 1}
	for name, tc := range map[string]struct {
		facts   timeline.Facts
		members timeline.Members
		want    string
	}{
		"the leader died": {
			timeline.Facts{
				Cluster: []*job.Event{leads("q3", "", 0, -900), outage("q3", job.OutageDead, 5, 0), leads("q2", "q3", 5, 5.042)},
				Runs:    []*job.Run{lostAttempt("no-overlap", 5.1, job.Running), lostAttempt("vacuum", 5.1, job.Pending)},
			}, three, `
q3 died at 10:49:05Z; q2 took over in 42 ms.
2 runs in history were retried (no-overlap, vacuum), 0 lost.
2 of 3 members are present; no further loss is tolerated.`},
		"the leader was cut off": {
			timeline.Facts{Cluster: []*job.Event{outage("q3", "", 5, 30), leads("q2", "q3", 9.8, 10.3)}}, all, `
q3 did not answer from 10:49:05Z to 10:49:30Z; q2 took over at 10:49:10Z, 5.3 s later.
No run in history was retried or lost.
All 3 members are present.`},
		"an earlier outage of the next leader": {
			timeline.Facts{
				Cluster: []*job.Event{outage("q3", job.OutageDead, 5, 8), leads("q3", "q1", 20, 25), leads("q2", "q3", 49, 55)},
			}, all, `
q3 died at 10:49:05Z, and was back at 10:49:08Z.
q3 took over from q1 at 10:49:25Z.
q2 took over from q3 at 10:49:55Z.
No leader from 10:49:20Z to 10:49:25Z.
No leader from 10:49:49Z to 10:49:55Z.
No run in history was retried or lost.
All 3 members are present.`},
		"the leader was silent before it was cut off": {
			timeline.Facts{Cluster: []*job.Event{outage("q3", "", 5, 8), outage("q3", "", 16, 0), leads("q2", "q3", 16, 21)}}, three, `
q3 did not answer from 10:49:05Z to 10:49:08Z.
q3 has not answered since 10:49:16Z; q2 took over at 10:49:21Z, 5 s later.
No leader from 10:49:16Z to 10:49:21Z.
No run in history was retried or lost.
2 of 3 members are present; no further loss is tolerated.`},
		"a follower was stopped and started": {
			timeline.Facts{Cluster: []*job.Event{outage("q1", job.OutageStopped, 5, 20)}}, all, `
q1 was stopped at 10:49:05Z, and was back at 10:49:20Z.
No run in history was retried or lost.
All 3 members are present.`},
		"the leader was stopped, and had handed its term over": {
			timeline.Facts{
				Cluster: []*job.Event{leads("q2", "q1", 5, 4.99), outage("q1", job.OutageStopped, 5, 20)},
				Runs:    []*job.Run{lateRun("a", 0.2)},
			}, all, `
q1 was stopped at 10:49:05Z, and was back at 10:49:20Z; q2 took over within a second.
No run in history was retried or lost.
1 job ran up to 200 ms late.
All 3 members are present.`},
		"each was stopped twice, and drained after its handover": {
			timeline.Facts{
				Cluster: []*job.Event{
					leads("q3", "q2", 5, 5.1), leads("q1", "q3", 10, 10.1), outage("q3", job.OutageStopped, 15, 18),
					leads("q3", "q1", 28, 28.1), leads("q2", "q3", 32, 32.1), outage("q3", job.OutageStopped, 39, 43),
				},
			}, all, `
q3 was stopped at 10:49:15Z, and was back at 10:49:18Z.
q3 was stopped at 10:49:39Z, and was back at 10:49:43Z.
q3 took over from q2 at 10:49:05Z.
q1 took over from q3 at 10:49:10Z.
q3 took over from q1 at 10:49:28Z.
q2 took over from q3 at 10:49:32Z.
No run in history was retried or lost.
All 3 members are present.`},
		"the majority was lost": {
			timeline.Facts{
				Cluster: []*job.Event{outage("q2", "", 50, 71), outage("q3", "", 50.2, 71.5), leads("q1", "q1", 50, 71)},
				Events:  []*job.Event{{Kind: job.EventSkipped, Job: "ping", At: at(71), From: at(60), To: at(70), Count: 3, Reason: "missed: a later slot runs instead"}},
				Runs: []*job.Run{
					lateRun("a", 11), lateRun("b", 11), lateRun("c", 10.6), lateRun("d", 11), lostAttempt("once-only", 71, job.Lost),
				},
			}, all, `
q2 did not answer from 10:49:50Z to 10:50:11Z.
q3 did not answer from 10:49:50Z to 10:50:11Z.
q1 leads again since 10:50:11Z.
No leader from 10:49:50Z to 10:50:11Z.
Fewer than the majority answered from 10:49:50Z to 10:50:11Z.
No run in history was retried, 1 run is lost.
3 slots of ping were skipped.
4 jobs ran up to 11 s late.
once-only/x is lost: check its target, then run ` + "`rota retry once-only/x`" + ` if it did not take place.
All 3 members are present.`},
		"all members answer, and none leads": {timeline.Facts{Leaderless: at(53)}, all, `
No leader has answered since 10:49:53Z.
No run in history was retried or lost.
All 3 members are present.`},
		"the majority is lost": {
			timeline.Facts{Cluster: []*job.Event{outage("q2", job.OutageDead, 50, 0), outage("q3", job.OutageDead, 52, 0)}, Leaderless: at(53)},
			timeline.Members{Expected: 3, Present: 1, Tolerated: -1}, `
q2 died at 10:49:50Z.
q3 died at 10:49:52Z.
No leader has answered since 10:49:53Z.
Fewer than the majority have answered since 10:49:52Z.
No run in history was retried or lost.
1 of 3 members are present, fewer than the majority.`},
	} {
		tc.facts.Now = at(100)
		v, ok := timeline.Describe(tc.facts, tc.members, at(100))
		if got := "\n" + strings.Join(v.Sentences, "\n"); !ok || got != tc.want {
			t.Errorf("%s: got%s\nwant%s", name, got, tc.want)
		}
	}
}

// TestAnIncidentThatNobodyObserved is a crash of all replicas. Slots that were missed until another leader began say when it was.
func TestAnIncidentThatNobodyObserved(t *testing.T) {
	const missed = "missed: a later slot runs instead"
	f := timeline.Facts{
		Now: at(4000), Cluster: []*job.Event{{Kind: job.EventLeader, Node: "q1", Previous: "q2", At: at(3600)}},
		Events: []*job.Event{{Kind: job.EventSkipped, Job: "ping", At: at(3601), From: at(20), To: at(3590), Count: 358, Reason: missed}},
		Runs:   []*job.Run{{Job: "ping", ID: "x", State: job.Skipped, Reason: missed, Slot: at(10), Finished: at(3601)}},
	}
	if v, ok := timeline.Describe(f, timeline.Members{}, at(3700)); !ok || !v.From.Equal(at(10)) || !v.Until.Equal(at(3601)) {
		t.Errorf("got an incident from %v to %v, want %v to %v", v.From, v.Until, at(10), at(3601))
	}
	for _, began := range []float64{0, 3000} { // one replica led for long, while an open breaker held the slots up
		f.Cluster[0].At = at(began)
		if v, _ := timeline.Describe(f, timeline.Members{}, at(3700)); !v.From.Equal(at(3541)) {
			t.Errorf("under a leader since %v: got an incident from %v, want %v", at(began), v.From, at(3541))
		}
	}
}

func TestTheIncidentAtATime(t *testing.T) {
	f := timeline.Facts{Now: at(4000), Cluster: []*job.Event{outage("q1", "", 5, 20), outage("q2", "", 1000, 1010), outage("q3", "", 1020, 1021)}}
	for seconds, want := range map[float64]string{10: "q1", 500: "q1", 1015: "q2 q3", 3000: "q2 q3"} {
		v, ok := timeline.Describe(f, timeline.Members{}, at(seconds))
		text := strings.Join(v.Sentences, " ")
		for node := range strings.FieldsSeq("q1 q2 q3") {
			if got := strings.Contains(text, node+" did not"); !ok || got != strings.Contains(want, node) {
				t.Errorf("at %v: got %q, want %s", seconds, text, want)
			}
		}
	}
	if v, ok := timeline.Describe(f, timeline.Members{}, at(-3600)); ok {
		t.Errorf("before the first one: got %+v", v)
	}
}

func TestEntries(t *testing.T) {
	slot := time.Date(2026, 11, 24, 10, 48, 0, 0, time.UTC)
	f := timeline.Facts{
		Now:     at(100),
		Cluster: []*job.Event{outage("q3", job.OutageDead, 5, 20), leads("q2", "q3", 4, 5.042)},
		Events: []*job.Event{
			{Kind: job.EventSkipped, Job: "ping", At: at(8), Count: 3, Reason: "missed: a later slot runs instead"},
			{Kind: job.EventSkipped, Job: "ping", At: at(9), Count: 2, Partial: true, Reason: "paused"},
			{Kind: job.EventFenced, Job: "ping", Run: "ping/x", Attempt: 1, At: at(10)},
		},
		Runs: []*job.Run{
			lostAttempt("vacuum", 6, job.Running),
			{Job: "late", ID: "x", State: job.Succeeded, Late: true, Slot: slot, Started: slot.Add(71 * time.Second), By: "alice", Created: at(0)},
			{Job: "bad", ID: "x", Slot: at(7), Due: at(7), State: job.Failed, Reason: "exit code 3", Finished: at(7), Attempts: []job.Attempt{{Number: 1, State: job.Failed, Started: at(7), Finished: at(7)}}},
		},
		Jobs: []*job.Job{
			{Name: "held", Paused: &job.Pause{At: at(12), By: "bob", Reason: "migration"}},
		},
		Files: job.Files{At: at(18), By: "q2", Hash: "0123456789abcdef"},
		Changes: []*job.Audit{
			{At: at(17.5), Verb: job.VerbApplyFiles, Author: job.Author{Principal: "replica/q1", How: "file"}}, // the record tells it
			{At: at(1), Verb: job.VerbApplyFiles, Author: job.Author{Principal: "replica/q1", How: "file"}},
			{At: at(2), Verb: "put-job", Kind: job.RecordJob, Object: "held", Before: 7, Author: job.Author{Principal: "eve", How: "token"}},
			{At: at(3), Verb: "put-job", Kind: job.RecordJob, Object: "fresh", Author: job.Author{Principal: "eve", How: "token"}},
			{At: at(3.5), Verb: "pause-job", Kind: job.RecordJob, Object: "held", Author: job.Author{Principal: "anonymous", How: "none", Claimed: "bob", Remote: "10.0.0.7"}},
			{At: at(4), Verb: "resume-job", Kind: job.RecordJob, Object: "held", Author: job.Author{Principal: "bob", How: "token"}},
			{At: at(11.9), Verb: "pause-job", Kind: job.RecordJob, Object: "held", Author: job.Author{Principal: "bob", How: "token"}}, // still in force
			{At: at(13), Verb: "delete-job", Kind: job.RecordJob, Object: "fresh", Before: 8, Author: job.Author{Principal: "eve", How: "token"}},
			{At: at(14), Verb: "start-backfill", Kind: job.RecordBackfill, Object: "held", Author: job.Author{Principal: "eve", How: "token"}},
			{At: at(15), Verb: "put-limit", Kind: "limits", Object: "db", Author: job.Author{Principal: "eve", How: "token"}},
			{At: at(16), Verb: "resume-all", Kind: "gate", Before: 9, Author: job.Author{Principal: "eve", How: "token"}},
			{At: at(17), Verb: "cancel-run", Kind: job.RecordRun, Object: "late/x", Author: job.Author{Principal: "eve", How: "token"}}, // the run tells it
			{At: at(17), Verb: "create-token", Kind: "auth", Object: "tokens/x", Author: job.Author{Principal: "eve", How: "token"}},    // audits tell it
		},
	}
	var got []string
	for _, e := range timeline.Entries(f, timeline.Query{Since: at(-60)}) {
		got = append(got, e.At.Format("05 ")+e.Kind+": "+e.Text)
	}
	want := `00 changed: alice submitted late/x.
01 changed: q1 put job files into force that were replaced later.
02 changed: eve changed job held.
03 changed: eve created job fresh.
03 changed: bob from 10.0.0.7 paused job held.
04 changed: bob resumed job held.
05 lost_member: q3 died.
05 leader: q2 took over from q3. Nobody led for 1 s.
06 retried: Attempt 1 of vacuum/x on q3 was lost and is repeated.
07 failed: bad/x failed: exit code 3.
08 missed: 3 slots of ping did not run: missed: a later slot runs instead.
09 skipped: at least 2 slots of ping did not run: paused.
10 fenced: The outcome of attempt 1 of ping/x came too late and had no effect.
11 late: late/x began 1m11s late.
12 changed: bob paused job held: migration.
13 changed: eve deleted job fresh.
14 changed: eve started the backfill of job held.
15 changed: eve created limit db.
16 changed: eve resumed all jobs.
18 changed: q2 put the job files 0123456789ab into force.
20 member: q3 answers again after 15 s.`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestRunsThatTellNothing compares Tells with the entries of runs that differ in one field each.
func TestRunsThatTellNothing(t *testing.T) {
	plain := job.Run{Job: "a", ID: "1", State: job.Succeeded, Attempts: []job.Attempt{{Number: 1, State: job.Succeeded}}}
	told := 0
	for name, change := range map[string]func(*job.Run){
		"plain":    func(*job.Run) {},
		"canceled": func(r *job.Run) { r.State = job.Canceled },
		"failed":   func(r *job.Run) { r.State, r.Attempts[0].State = job.Failed, job.Failed },
		"slow":     func(r *job.Run) { r.State = job.TimedOut },
		"lost":     func(r *job.Run) { r.State, r.Attempts[0].State = job.Lost, job.Lost },
		"skipped":  func(r *job.Run) { r.State = job.Skipped },
		"late":     func(r *job.Run) { r.Late, r.Armed = true, time.Unix(1, 0) },
		"again":    func(r *job.Run) { r.Attempts = append([]job.Attempt{{Number: 1, State: job.Failed}}, r.Attempts...) },
		"waits":    func(r *job.Run) { r.State, r.Attempts[0].State = job.Pending, job.Lost },
		"by":       func(r *job.Run) { r.By = "ann" },
		"backfill": func(r *job.Run) { r.By, r.Kind = "ann", job.KindBackfill },
		"stopped":  func(r *job.Run) { r.State, r.Cancel = job.Canceled, &job.Cancel{By: "ann"} },
		"approved": func(r *job.Run) { r.Approval = &job.Approval{At: time.Unix(1, 0), Approved: true} },
	} {
		r := plain
		r.Attempts = slices.Clone(plain.Attempts)
		change(&r)
		entries := len(timeline.Entries(timeline.Facts{Runs: []*job.Run{&r}}, timeline.Query{}))
		if tells := timeline.Tells(&r); tells != (entries > 0) {
			t.Errorf("%s: Tells is %v, and the run has %d entries", name, tells, entries)
		}
		told += min(1, entries)
	}
	if told != 10 {
		t.Errorf("%d kinds of runs have entries, want 10", told)
	}
}

// A replica that leaves the cluster is stopped, and never starts again. Later troubles are incidents of their own.
func TestAReplicaThatLeftIsInNoLaterIncident(t *testing.T) {
	const later = 30 * 24 * 3600
	f := timeline.Facts{
		Cluster: []*job.Event{outage("q4", job.OutageStopped, 5, 0), outage("q3", job.OutageDead, later, later+20), leads("q2", "q3", later, later+1)},
		Now:     at(later + 60),
	}
	got, ok := timeline.Describe(f, timeline.Members{Expected: 3, Present: 3, Tolerated: 1}, f.Now)
	if !ok || !got.From.Equal(at(later)) || !got.Until.Equal(at(later+20)) || strings.Contains(strings.Join(got.Sentences, " "), "q4") {
		t.Errorf("got %+v, want the incident of q3 alone", got)
	}
	f.Cluster[0] = outage("q4", job.OutageStopped, 5, 2*later)
	if got, ok := timeline.Describe(f, timeline.Members{Expected: 3, Present: 3, Tolerated: 1}, at(later+10)); !ok || !got.From.Equal(at(later)) {
		t.Errorf("after its return: got %+v, want the same", got)
	}
	f.Cluster, f.Now = []*job.Event{outage("q4", job.OutageStopped, 5, 0)}, at(60)
	if got := timeline.Incidents(f); len(got) != 1 || !got[0].Until.IsZero() {
		t.Errorf("after a minute: got %+v, want an incident that lasts", got)
	}
}
