package explain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-21T"+text+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

// backup is a job with a slot at 02:30 UTC. It was created the day before, and is explained in the morning.
func backup(change func(*job.Job)) explain.Facts {
	j := &job.Job{
		Name: "backup", Generation: 1, Since: at("12:00:00").AddDate(0, 0, -1), SinceReason: job.SinceCreated,
		Spec: new(job.Spec{Schedule: []string{"30 2 * * *"}, Command: []string{"true"}}.WithDefaults()),
	}
	if change != nil {
		change(j)
	}
	f := explain.Facts{Job: j, Now: at("08:00:00")}
	f.When, f.Bad = policy.When(j.Name, j.Spec)
	return f
}

func with(f explain.Facts, change func(*explain.Facts)) explain.Facts {
	change(&f)
	return f
}

// rescheduled is the job with a new schedule. e skipped slots of the old one.
func rescheduled(e job.Event) explain.Facts {
	f := backup(func(j *job.Job) {
		j.Since, j.SinceReason, j.Scheduled = at("01:17:00"), job.SinceRescheduled, at("01:17:00")
	})
	f.Events = []job.Event{e}
	return f
}

func slotRun(state job.State, change func(*job.Run)) func(*explain.Facts) {
	return func(f *explain.Facts) {
		r := &job.Run{Job: "backup", ID: "2026-11-21T02:30:00Z", Kind: job.KindScheduled, Slot: at("02:30:00"), Due: at("02:30:00"), State: state}
		if change != nil {
			change(r)
		}
		f.Run = r
	}
}

func ended(reason string) func(*job.Run) {
	return func(r *job.Run) { r.Started, r.Finished, r.Reason = at("02:30:00"), at("02:31:00"), reason }
}

// began returns a change that gives a run one attempt. armed is when the leader armed the run. started is when the attempt
// started, by its worker's clock.
func began(armed, started string) func(*job.Run) {
	return func(r *job.Run) {
		ended("")(r)
		r.Armed, r.Started = at(armed), at(started)
		r.Attempts = []job.Attempt{{Number: 1, Worker: "w1", Token: 41, Started: r.Started, Finished: r.Finished, State: job.Succeeded}}
	}
}

func TestExplain(t *testing.T) {
	usual := backup(nil)
	paused := &job.Pause{At: at("01:00:00"), By: "alice", Reason: "migration"}
	changed := job.Event{Kind: job.EventSkipped, At: at("01:20:00"), Reason: "the schedule was changed before this slot ran",
		From: at("01:15:00"), To: at("01:15:00"), Count: 1, Partial: true, Term: 12}
	hours := job.Event{Kind: job.EventSkipped, At: at("01:16:00"), Reason: "missed", From: at("00:15:00"), To: at("03:15:00"), Count: 4, Term: 12}
	for _, tc := range []struct {
		name    string
		facts   explain.Facts
		at      string
		verdict string
		text    string
	}{
		{"ran", with(usual, slotRun(job.Succeeded, ended(""))), "02:30:00", "ran",
			"It succeeded at 2026-11-21T02:31:00Z."},
		{"ran with a delay", with(usual, slotRun(job.Succeeded, began("02:30:05", "02:30:07"))), "02:30:00", "ran", `
			It succeeded at 2026-11-21T02:31:00Z.
			Its last attempt started 7s after it was due.
			Attempt 1 on worker w1 with token 41: succeeded.`},
		{"ran in time on a worker whose clock is ahead", with(usual, slotRun(job.Succeeded, began("02:29:58", "02:30:45"))), "02:30:00", "ran", `
			It succeeded at 2026-11-21T02:30:15Z.
			Attempt 1 on worker w1 with token 41: succeeded.`},
		{"ran with a delay on a worker whose clock is behind", with(usual, slotRun(job.Succeeded, began("02:30:30", "02:29:45"))), "02:30:00", "ran", `
			It succeeded at 2026-11-21T02:31:45Z.
			Its last attempt started 30s after it was due.
			Attempt 1 on worker w1 with token 41: succeeded.`},
		{"running with a delay", with(usual, slotRun(job.Running, func(r *job.Run) {
			r.Worker, r.Armed, r.Started = "w1", at("02:30:30"), at("02:30:30")
		})), "02:30:00", "running", `
			It has been running on worker w1 since 2026-11-21T02:30:30Z.
			Its last attempt started 30s after it was due.`},
		{"ran late", with(usual, slotRun(job.Succeeded, func(r *job.Run) { ended("")(r); r.Late = true })), "02:30:00", "ran late", `
			It succeeded at 2026-11-21T02:31:00Z.
			It was late: no leader could dispatch it in time, or it waited behind a late run. The job's missed policy is latest.`},
		{"ran late, and by how much", with(usual, slotRun(job.Succeeded, func(r *job.Run) {
			began("02:41:40", "02:41:40")(r)
			r.Late, r.Attempt = true, 1
		})), "02:30:00", "ran late", `
			It succeeded at 2026-11-21T02:41:40Z.
			It was late by 11m40s: no leader could dispatch it in time, or it waited behind a late run. The job's missed policy is latest.
			Attempt 1 on worker w1 with token 41: succeeded.`},
		{"ran late, and no earlier run was in the way", with(usual, late("02:29:59")), "02:30:00", "ran late", `
			It succeeded at 2026-11-21T02:31:00Z.
			It was late: no leader could dispatch it in time. The job's missed policy is latest.`},
		{"ran late, behind an earlier run", with(usual, late("02:30:20")), "02:30:00", "ran late", `
			It succeeded at 2026-11-21T02:31:00Z.
			It was late: it waited behind run backup/a, which ended at 2026-11-21T02:30:20Z. The job's missed policy is latest.`},
		{"failed, with the reason of each attempt", with(usual, slotRun(job.Failed, func(r *job.Run) {
			ended("gave up after 1 retry")(r)
			r.Attempts = []job.Attempt{
				{Number: 1, Worker: "w1", Token: 41, State: job.Lost, Reason: "worker w1 was lost"},
				{Number: 2, Worker: "w2", Token: 57, State: job.Failed, Reason: "exit code 1."},
			}
		})), "02:30:00", "failed", `
			It failed at 2026-11-21T02:31:00Z: gave up after 1 retry.
			Attempt 1 on worker w1 with token 41: lost: worker w1 was lost.
			Attempt 2 on worker w2 with token 57: failed: exit code 1.`},
		{"timed out", with(usual, slotRun(job.TimedOut, ended("after 1m"))), "02:30:00", "timed_out",
			"It timed out at 2026-11-21T02:31:00Z: after 1m."},
		{"canceled", with(usual, slotRun(job.Canceled, ended("canceled by request"))), "02:30:00", "canceled",
			"It was canceled at 2026-11-21T02:31:00Z: canceled by request."},
		{"lost", with(usual, slotRun(job.Lost, ended("worker w1 was lost"))), "02:30:00", "lost",
			"It was lost at 2026-11-21T02:31:00Z: worker w1 was lost."},
		{"skipped alone", with(usual, slotRun(job.Skipped, ended("overlap: run x is still active"))), "02:30:00", "skipped",
			"It did not run: overlap: run x is still active."},
		{"pending", with(usual, slotRun(job.Pending, func(r *job.Run) { r.Reason = "no worker has room" })), "02:30:00", "pending",
			"It is pending: no worker has room."},
		{"pending for a retry", with(usual, slotRun(job.Pending, func(r *job.Run) { r.Reason, r.Due = "retry 1 of 3", at("08:00:30") })), "02:30:00", "pending", `
			It is pending: retry 1 of 3.
			It is due in 30s.`},
		{"armed", with(usual, slotRun(job.Armed, func(r *job.Run) { r.Worker = "w1" })), "02:30:00", "armed",
			"It is assigned to worker w1, which has not started it yet."},
		{"armed ahead", with(usual, slotRun(job.Armed, func(r *job.Run) { r.Worker, r.Due = "w1", at("08:00:01") })), "02:30:00", "armed", `
			It is assigned to worker w1, which has not started it yet.
			It is armed ahead: the worker starts it in 1s.`},
		{"on every worker", with(usual, func(f *explain.Facts) {
			slotRun(job.Pending, func(r *job.Run) { *r = r.SpreadOver([]string{"a", "b", "c", "d"}, at("02:30:00")) })(f)
			copyOn := func(worker string, state job.State, reason string) *job.Run {
				c := f.Run.Copy(worker, at("02:30:00"))
				c.State, c.Reason = state, reason
				return &c
			}
			f.Copies = map[string]*job.Run{
				"a": copyOn("a", job.Succeeded, ""), "b": copyOn("b", job.Failed, "exit code 1"), "c": copyOn("c", job.Pending, "no worker has room"),
			}
		}), "02:30:00", "pending", `
			It is pending: waits for its copies on workers: 4.
			It is a run on every worker: 1 of its 4 copies succeeded.
			Copy backup/2026-11-21T02:30:00Z.b ended as failed: exit code 1.
			Copy backup/2026-11-21T02:30:00Z.c is pending: no worker has room.
			The copy on worker d has not been created yet.`},
		{"running", with(usual, slotRun(job.Running, func(r *job.Run) { r.Worker, r.Started = "w1", at("02:30:00") })), "02:30:00", "running",
			"It has been running on worker w1 since 2026-11-21T02:30:00Z."},
		{"running and being stopped", with(usual, slotRun(job.Running, func(r *job.Run) {
			r.Worker, r.Started, r.Cancel = "w1", at("02:30:00"), &job.Cancel{Reason: "canceled by request"}
		})), "02:30:00", "running",
			`
			It has been running on worker w1 since 2026-11-21T02:30:00Z.
			It is being stopped: canceled by request.`},
		{"run of a deleted job", with(with(usual, slotRun(job.Succeeded, ended(""))), func(f *explain.Facts) { f.Job, f.When = nil, nil }), "02:30:00", "ran",
			"It succeeded at 2026-11-21T02:31:00Z."},
		{"unknown job", explain.Facts{Now: at("08:00:00")}, "02:30:00", "no such job",
			"There is no job of that name, and no record of it at that time."},
		{"unreadable job", explain.Facts{Now: at("08:00:00"), Broken: errors.New("record is unreadable: /rota/jobs/j: what?")}, "02:30:00", "unreadable",
			`The job's definition cannot be read: record is unreadable: /rota/jobs/j: what?.
			It has no slots until its record is repaired or deleted with ` + "`rota etcdctl`" + `. Slots that pass until then are missed.`},
		{"skipped with others", with(usual, func(f *explain.Facts) {
			f.Events = []job.Event{
				{Kind: job.EventFenced, At: at("02:45:00"), From: at("00:00:00"), To: at("23:00:00")},
				{Kind: job.EventSkipped, At: at("07:00:00"), Reason: "missed: a later slot runs instead",
					From: at("02:30:00").AddDate(0, 0, -3), To: at("02:30:00"), Count: 4, Term: 12},
			}
		}), "02:30:00", "skipped", `
			It did not run: missed: a later slot runs instead.
			Recorded at 2026-11-21T07:00:00Z in term 12, for the slots from 2026-11-18T02:30:00Z to 2026-11-21T02:30:00Z (4).`},
		{"skipped with an unknown number of others", with(usual, func(f *explain.Facts) {
			f.Events = []job.Event{{Kind: job.EventSkipped, At: at("07:00:00"), Reason: "paused", From: at("02:30:00"), To: at("02:30:00"), Count: 1, Partial: true, Term: 12}}
		}), "02:30:00", "skipped", `
			It did not run: paused.
			Recorded at 2026-11-21T07:00:00Z in term 12, for the slots from 2026-11-21T02:30:00Z to 2026-11-21T02:30:00Z (at least 1).`},
		{"skipped under an earlier schedule", rescheduled(changed), "01:15:00", "skipped", `
			It did not run: the schedule was changed before this slot ran.
			Recorded at 2026-11-21T01:20:00Z in term 12, for the slots from 2026-11-21T01:15:00Z to 2026-11-21T01:15:00Z (at least 1).
			The job's present schedule has no slot at that time.`},
		{"skipped in the minute of a slot", with(rescheduled(changed), func(f *explain.Facts) {
			f.Events[0].From, f.Events[0].To = at("02:30:40"), at("02:30:40")
			slotRun(job.Succeeded, ended(""))(f)
		}), "02:30:40", "skipped", `
			It did not run: the schedule was changed before this slot ran.
			Recorded at 2026-11-21T01:20:00Z in term 12, for the slots from 2026-11-21T02:30:40Z to 2026-11-21T02:30:40Z (at least 1).
			The job's present schedule has no slot at that time.`},
		{"in a range of an earlier schedule", rescheduled(hours), "01:15:00", "skipped", `
			If it was a slot, it did not run: missed.
			Recorded at 2026-11-21T01:16:00Z in term 12, for the slots from 2026-11-21T00:15:00Z to 2026-11-21T03:15:00Z (4).
			The job's present schedule has no slot at that time.`},
		{"not a slot, in a range of the present schedule", with(usual, func(f *explain.Facts) { f.Events = []job.Event{hours} }), "01:15:00", "not a slot", `
			2026-11-21T01:15:00Z is not a slot of the job (zone UTC).
			The next slot after it is 2026-11-21T02:30:00Z.
			The last slot before it is 2026-11-20T02:30:00Z.`},
		{"skipped before its job was deleted", explain.Facts{Now: at("08:00:00"), Events: []job.Event{changed}}, "01:15:00", "skipped", `
			It did not run: the schedule was changed before this slot ran.
			Recorded at 2026-11-21T01:20:00Z in term 12, for the slots from 2026-11-21T01:15:00Z to 2026-11-21T01:15:00Z (at least 1).`},
		{"another time of a deleted job", explain.Facts{Now: at("08:00:00"), Events: []job.Event{changed}}, "01:14:59", "no such job",
			"There is no job of that name, and no record of it at that time."},
		{"skipped before its job became unreadable", explain.Facts{Now: at("08:00:00"), Events: []job.Event{changed}, Broken: errors.New("what?")}, "01:15:30", "skipped", `
			It did not run: the schedule was changed before this slot ran.
			Recorded at 2026-11-21T01:20:00Z in term 12, for the slots from 2026-11-21T01:15:00Z to 2026-11-21T01:15:00Z (at least 1).
			The job's definition cannot be read: what?.`},
		{"before the job was created", backup(func(j *job.Job) { j.Since = at("02:30:00") }), "02:30:00", "not scheduled",
			"Not scheduled: the job was created later, at 2026-11-21T02:30:00Z."},
		{"of an earlier schedule", backup(func(j *job.Job) { j.Since, j.SinceReason = at("03:00:00"), job.SinceRescheduled }), "02:30:00", "not scheduled",
			"Not scheduled: the job got its present schedule later, at 2026-11-21T03:00:00Z."},
		{"while it was paused", backup(func(j *job.Job) { j.Since, j.SinceReason = at("03:00:00"), job.SinceResumed }), "02:30:00", "not scheduled",
			"Not scheduled: the job was paused until 2026-11-21T03:00:00Z."},
		{"while all were paused", with(usual, func(f *explain.Facts) { f.Gate.Since = at("03:00:00") }), "02:30:00", "not scheduled",
			"Not scheduled: all jobs were paused until 2026-11-21T03:00:00Z."},
		{"before it was paused", backup(func(j *job.Job) {
			*j, _ = j.SetPause(&job.Pause{At: at("02:30:00")}, at("02:30:00"))
			*j, _ = j.SetPause(nil, at("03:00:00"))
		}), "02:30:00", "waits",
			"It has been due since 2026-11-21T02:30:00Z and is not decided yet: no replica leads."},
		{"before all were paused", with(usual, func(f *explain.Facts) {
			f.Gate, _ = f.Gate.SetPause(&job.Pause{At: at("02:30:00")}, at("02:30:00"))
			f.Gate, _ = f.Gate.SetPause(nil, at("03:00:00"))
		}), "02:30:00", "waits",
			"It has been due since 2026-11-21T02:30:00Z and is not decided yet: no replica leads."},
		{"removed from history", with(usual, func(f *explain.Facts) { f.Cursor = &job.Cursor{After: at("02:30:00")} }), "02:30:00", "decided",
			"It was decided, because the cursor is at 2026-11-21T02:30:00Z, but history no longer has its record. " +
				"If the slot is recent, its record was removed by hand. `rota verify` lists such slots."},
		{"behind a cursor that was moved ahead by hand", with(usual, func(f *explain.Facts) {
			f.Cursor, f.Now = &job.Cursor{After: at("02:30:00")}, at("02:00:00")
		}), "02:30:00", "decided",
			"It will not run: the cursor, at 2026-11-21T02:30:00Z, passed it before its time, and it has no run. " +
				"Its run was removed or the cursor was moved by hand. `rota verify` lists such slots."},
		{"paused", backup(func(j *job.Job) { j.Paused = paused }), "02:30:00", "paused",
			"It does not run while the job is paused (since 2026-11-21T01:00:00Z, by alice: migration)."},
		{"all paused", with(usual, func(f *explain.Facts) { f.Gate.Paused = paused }), "02:30:00", "paused",
			"It does not run while all jobs are paused (since 2026-11-21T01:00:00Z, by alice: migration)."},
		{"upcoming", with(usual, func(f *explain.Facts) { f.Now = at("02:00:00") }), "02:30:00", "upcoming",
			"It is due in 30m0s."},
		{"in a thousand years", with(usual, func(f *explain.Facts) { f.Now = at("02:00:00").AddDate(-1000, 0, 0) }), "02:30:00", "upcoming", "It is due in 365243 days."},
		{"waits for a leader", usual, "02:30:00", "waits",
			"It has been due since 2026-11-21T02:30:00Z and is not decided yet: no replica leads."},
		{"waits for the leader", with(usual, func(f *explain.Facts) { f.Leader = "q1" }), "02:30:00", "waits",
			"It has been due since 2026-11-21T02:30:00Z and is not decided yet: leader q1 has not reached it."},
		{"waits for an earlier run", with(usual, func(f *explain.Facts) {
			f.Leader = "q1"
			f.Active = []*job.Run{{Job: "backup", ID: "m1", State: job.Pending}, {Job: "backup", ID: "m0", State: job.Running, Attempt: 1}}
		}), "02:30:00", "waits",
			"It has been due since 2026-11-21T02:30:00Z and is not decided yet: it waits for run backup/m0, which is running."},
		{"waits behind a waiting run", with(usual, func(f *explain.Facts) {
			f.Leader = "q1"
			f.Active = []*job.Run{{Job: "backup", ID: "m1", State: job.Pending, Reason: "no worker has room"}}
		}), "02:30:00", "waits",
			"It has been due since 2026-11-21T02:30:00Z and is not decided yet: it waits behind run backup/m1, which is pending: no worker has room."},
		{"due, and only a backfilled run is active", with(usual, func(f *explain.Facts) {
			f.Leader, f.Now = "q1", at("02:30:01")
			f.Active = []*job.Run{{Job: "backup", ID: "b", Kind: job.KindBackfill, State: job.Running, Attempt: 1}}
		}), "02:30:00", "waits", "It has been due since 2026-11-21T02:30:00Z and is not decided yet: leader q1 has not reached it."},
		{"not a slot", usual, "02:31:00", "not a slot", `
			2026-11-21T02:31:00Z is not a slot of the job (zone UTC).
			The next slot after it is 2026-11-22T02:30:00Z.
			The last slot before it is 2026-11-21T02:30:00Z.`},
		{"excluded", backup(func(j *job.Job) { j.Spec.Exclude = []string{"2026-11-21"} }), "02:30:00", "not a slot", `
			2026-11-21T02:30:00Z is not a slot of the job (zone UTC).
			The next slot after it is 2026-11-22T02:30:00Z.
			The last slot before it is 2026-11-20T02:30:00Z.
			The job excludes 2026-11-21.`},
		{"no schedule", backup(func(j *job.Job) { j.Spec.Schedule = nil }), "02:30:00", "not a slot",
			"The job has no schedule: it runs only on request."},
		{"a schedule that cannot be parsed", with(usual, func(f *explain.Facts) { f.When, f.Bad = nil, errors.New("schedule: what?") }), "02:30:00", "no slots",
			"The job has no slots, because its schedule cannot be parsed: schedule: what?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := explain.Explain(tc.facts, at(tc.at))
			want := strings.Split(strings.ReplaceAll(strings.TrimSpace(tc.text), "\t", ""), "\n")
			if got.Verdict != tc.verdict || strings.Join(got.Text, "\n") != strings.Join(want, "\n") {
				t.Errorf("got %q:\n%s\nwant %q:\n%s", got.Verdict, strings.Join(got.Text, "\n"), tc.verdict, strings.Join(want, "\n"))
			}
			noSlot := tc.verdict == "not a slot" || tc.verdict == "no slots" || tc.verdict == "no such job" || tc.verdict == "unreadable" ||
				strings.Contains(tc.text, "If it was a slot")
			if noSlot != got.Slot.IsZero() {
				t.Errorf("slot: got %v", got.Slot)
			}
		})
	}
}
