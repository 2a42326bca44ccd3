package timeline

import (
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// deeds says what an operation of the API does, before the name of its object.
var deeds = map[string]string{
	"put-job": "changed job", "delete-job": "deleted job", "pause-job": "paused job", "resume-job": "resumed job",
	"start-backfill": "started the backfill of job", "stop-backfill": "stopped the backfill of job",
	"put-limit": "changed limit", "delete-limit": "deleted limit", "pause-all": "paused all jobs", "resume-all": "resumed all jobs",
}

// deedOf says what a change did, and to which job. It returns "" for a change that a run shows, and for one that only audits show.
func deedOf(a *job.Audit) (deed, of string) {
	deed, known := deeds[a.Verb]
	if !known {
		return "", ""
	}
	if strings.HasPrefix(a.Verb, "put-") && a.Before == 0 {
		deed = strings.Replace(deed, "changed", "created", 1)
	}
	return strings.TrimSpace(deed + " " + a.Object), a.Job()
}

// pauses reports whether a change is a pause. The record of a job has the reason of the one that lasts.
func pauses(a *job.Audit) bool { return a.Verb == "pause-job" || a.Verb == "pause-all" }

// near reports whether two times may be those of one change. A record has the time of the change, and an audit that of the request.
func near(a, b time.Time) bool { return a.Sub(b).Abs() < time.Second }

// submitted reports whether a client created the run. The leader creates the runs of a backfill; their By ordered it, which is a
// change of its own.
func submitted(r *job.Run) bool { return r.By != "" && r.Kind != job.KindBackfill }

// who names the person behind a change.
func who(by string) string {
	if by == "" {
		return "Somebody"
	}
	return by
}

// changesOf returns the changes by people that records other than those of runs show.
func changesOf(f Facts) (list []Entry) {
	add := func(at time.Time, by, jobName, text string) {
		list = append(list, Entry{At: at, Kind: KindChanged, By: by, Job: jobName, Text: text})
	}
	paused := map[string]time.Time{} // since when a pause lasts, by job; "": of all jobs
	if p := f.Gate.Paused; p != nil {
		paused[""] = p.At
		add(p.At, p.By, "", who(p.By)+" paused all jobs"+because(p.Reason)+".")
	}
	if !f.Files.At.IsZero() {
		add(f.Files.At, "", "", f.Files.By+" put the job files "+f.Files.Hash[:min(12, len(f.Files.Hash))]+" into force.")
	}
	for _, j := range f.Jobs {
		if p := j.Paused; p != nil {
			paused[j.Name] = p.At
			add(p.At, p.By, j.Name, who(p.By)+" paused job "+j.Name+because(p.Reason)+".")
		}
	}
	for _, a := range f.Changes {
		if a.Verb == job.VerbApplyFiles && !near(f.Files.At, a.At) {
			add(a.At, "", "", strings.TrimPrefix(a.Name(), "replica/")+" put job files into force that were replaced later.")
		}
		if deed, name := deedOf(a); deed != "" && !(pauses(a) && near(paused[name], a.At)) {
			add(a.At, a.Name(), name, a.Name()+" "+deed+".")
		}
	}
	return list
}

// changesOfRun returns the changes by people that the record of a run shows.
func changesOfRun(r *job.Run) (list []Entry) {
	add := func(at time.Time, by, text string) {
		list = append(list, Entry{At: at, Kind: KindChanged, By: by, Job: r.Job, Run: r.Name(), Text: text})
	}
	if a := r.Approval; a != nil && !a.At.IsZero() {
		verb := " rejected "
		if a.Approved {
			verb = " approved "
		}
		add(a.At, a.Who, who(a.Who)+verb+r.Name()+because(a.Reason)+".")
	}
	if r.Cancel != nil {
		add(r.Cancel.At, r.Cancel.By, who(r.Cancel.By)+" asked for the end of "+r.Name()+because(r.Cancel.Reason)+".")
	}
	if submitted(r) {
		add(r.Created, r.By, r.By+" submitted "+r.Name()+".")
	}
	return list
}
