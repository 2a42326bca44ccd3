package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// report is the result of an examination.
type report struct {
	Sound    bool
	Verdict  string // a sentence
	Findings []finding
	Notes    []string // about the data
	Skipped  []string // what was not examined, and why
	Scope    string   // what was examined
}

// finding is one thing that an examination found.
type finding struct {
	Area, Subject, Text string
	Do                  string // what to do; empty: the text says it
}

const examineTime = "It may take two minutes. Leave the page to cancel it."

func prepareVerify(s *site, r *http.Request, f *form) error {
	v, err := s.ops.Cluster(r)
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Back = "Verify the store", "Verify", "/cluster"
	size := ""
	if v.Store.DBSize > 0 {
		size = ", " + bytesText(v.Store.DBSize)
	}
	f.Facts = []string{
		fmt.Sprintf("Replica %s reads all records of the store%s, page by page, and the latest changes. "+
			"It checks the invariants on them, for example that no slot has two runs.", v.Node, size),
		"It changes nothing. " + examineTime,
	}
	f.warnOfLeader(&v)
	return nil
}

// warnOfLeader says that the leader does the work, if another replica could do it.
func (f *form) warnOfLeader(v *api.ClusterView) {
	if v.Leader != nil && v.Leader.Node == v.Node && len(v.Replicas) > 1 {
		f.Facts = append(f.Facts, "This replica leads. The page of another replica does the same without a load on the leader.")
	}
}

func performVerify(s *site, r *http.Request, f *form) (string, error) {
	var v api.VerifyView
	if err := s.ops.Do(r, http.MethodPost, "/v1/verify", nil, nil, &v); err != nil {
		return "", err
	}
	rep := &report{
		Sound: len(v.Violations) == 0, Verdict: "No invariant is broken.", Notes: v.Notes,
		Scope: fmt.Sprintf("Checked: %s, %s, %s and %s, revisions %d to %d.", plural(v.Jobs, "job"), plural(v.Runs, "run"),
			plural(v.Slots, "slot"), plural(v.Changes, "change"), v.From, v.Revision),
	}
	if n := len(v.Violations); n > 0 {
		rep.Verdict = verb(n, "violation was", "violations were") + " found."
	}
	for _, b := range v.Violations {
		text := b.Text
		if b.Revision > 0 {
			text = fmt.Sprintf("revision %d: %s", b.Revision, text)
		}
		rep.Findings = append(rep.Findings, finding{Area: fmt.Sprintf("invariant %d", b.Invariant), Subject: b.Subject, Text: text})
	}
	f.show(rep, "Verify again")
	return "", nil
}

func prepareDoctor(s *site, r *http.Request, f *form) error {
	v, err := s.ops.Cluster(r)
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Back = "Examine the cluster", "Examine", "/cluster"
	f.Facts = []string{
		fmt.Sprintf("Replica %s asks the members of etcd and the other replicas, and reads all records of the store, page by page. "+
			"It also examines its own machine and settings.", v.Node),
		"It changes nothing, except that it writes a small file into its data directory to measure the disk. " + examineTime,
	}
	f.warnOfLeader(&v)
	return nil
}

func performDoctor(s *site, r *http.Request, f *form) (string, error) {
	var v api.DoctorView
	if err := s.ops.Do(r, http.MethodPost, "/v1/doctor", nil, nil, &v); err != nil {
		return "", err
	}
	rep := &report{
		Sound: len(v.Findings) == 0, Verdict: "Nothing was found that will harm the cluster.", Skipped: v.Skipped,
		Scope: "Replica " + v.Node + " examined: " + strings.Join(v.Examined, ", ") + ".",
	}
	if n := len(v.Findings); n > 0 {
		rep.Verdict = verb(n, "finding needs", "findings need") + " attention."
	}
	for _, one := range v.Findings {
		rep.Findings = append(rep.Findings, finding{Area: one.Area, Subject: one.Subject, Text: one.Text, Do: one.Do})
	}
	f.show(rep, "Examine again")
	return "", nil
}

// show shows a report in place of what the form says about the examination.
func (f *form) show(r *report, verb string) {
	f.Report, f.Verb, f.Facts, f.Preview = r, verb, nil, true
}
