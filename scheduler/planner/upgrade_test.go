package planner_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Reasons as version 0.1.0 writes and compares them. During an upgrade a leader of one version reads the records of the other.
const (
	overdue010  = "it goes on after its timeout: its worker was asked to end it"
	notBegun010 = "worker a did not begin it"
	nobody010   = "no worker accepts it: none is present with its labels or handler"
	unlimited10 = "no worker accepts it: none is present with its labels that can limit its resources"
	unknown010  = "its worker was lost; whether it may be tried again says the job's definition, which cannot be read"
)

// putRun stores a run of job j that was due at the rig's time.
func (r *rig) putRun(run job.Run) {
	run.Job, run.ID, run.Kind, run.Slot, run.Due = "j", "m", job.KindManual, r.now, r.now
	if run.State != job.Pending {
		run.Armed, run.Attempt, run.Token = r.now, 1, 1
		run.Session = run.Worker + "-1"
	}
	r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
}

// An earlier leader, of any version, has asked the worker to stop the run and has waited. The next leader must not repeat this.
func TestAnOverdueRunIsStoppedOnceDuringAnUpgrade(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{})
	r.worker("a", 1)
	r.putRun(job.Run{State: job.Running, Worker: "a", Bound: minutely, Reason: overdue010})
	r.now = r.now.Add(time.Hour)
	r.lead()
	r.expectNone()
	r.now = r.now.Add(2 * time.Minute)
	if d := r.plan(); d.Stop || !d.GaveUp {
		t.Errorf("got %+v, want the attempt given up", d)
	}

	r = newRig(t)
	r.define("j", job.Spec{})
	r.worker("a", 1)
	r.putRun(job.Run{State: job.Running, Worker: "a", Bound: minutely})
	r.now = r.now.Add(time.Hour)
	r.lead()
	r.expectNone() // its clock may be set soon
	r.now = r.now.Add(time.Minute)
	if d := r.plan(); !d.Stop || d.Run.Reason != overdue010 {
		t.Errorf("got %+v, want the worker asked to stop it, and the reason %q", d, overdue010)
	}
}

func TestAWorkerThatDidNotBeginARunIsAvoidedDuringAnUpgrade(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{})
	r.worker("a", 10)
	r.worker("b", 1)
	r.putRun(job.Run{State: job.Pending, Reason: notBegun010})
	r.lead()
	if d := r.plan(); d.Run.Worker != "b" {
		t.Errorf("got %s, want it armed on b", describe(d.Run))
	}

	r = newRig(t)
	r.define("j", job.Spec{})
	r.worker("a", 1)
	r.putRun(job.Run{State: job.Armed, Worker: "a"})
	r.lead()
	r.now = r.now.Add(time.Minute)
	if d := r.plan(); d.Run.Reason != notBegun010 {
		t.Errorf("got %s, want it pending: %s", describe(d.Run), notBegun010)
	}
}

func TestAReasonToWaitIsReplacedDuringAnUpgrade(t *testing.T) {
	for _, reason := range []string{
		nobody010, unlimited10, "limit db: at most 1/s begin", "rate 1/s of job j", "breaker open: run m0 tries first",
	} {
		r := newRig(t)
		r.define("j", job.Spec{})
		r.putRun(job.Run{State: job.Pending, Reason: reason})
		j := *r.store.job("j")
		j.Paused = &job.Pause{At: r.now}
		r.store.putJob(j)
		r.lead()
		if d := r.plan(); d.Run.Reason != "paused" {
			t.Errorf("%q: got %s, want it pending: paused", reason, describe(d.Run))
		}
	}
	for want, spec := range map[string]job.Spec{nobody010: {}, unlimited10: {Resources: &job.Resources{PIDs: 1}}} {
		r := newRig(t)
		r.define("j", spec)
		r.putRun(job.Run{State: job.Pending})
		r.lead()
		if d := r.plan(); d.Run.Reason != want {
			t.Errorf("got %s, want it pending: %s", describe(d.Run), want)
		}
	}
}

func TestAnUnknownEndIsRecordedOnceDuringAnUpgrade(t *testing.T) {
	r := newRig(t)
	r.putRun(job.Run{State: job.Running, Worker: "a", Bound: minutely, Reason: unknown010})
	r.store.putGarbage(job.RecordJob, "j")
	r.lead()
	r.now = r.now.Add(time.Hour) // a, which is absent, does not return
	r.expectNone()
}
