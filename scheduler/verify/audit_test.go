package verify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

func TestDefinitionsWithoutAuditRecordAreNoted(t *testing.T) {
	def := func(name, origin string, rev int64) job.Change {
		j := &job.Job{Name: name, Origin: job.Origin{Kind: origin}, Generation: 1, Spec: &job.Spec{Shell: "true"}, Rev: rev}
		return job.Change{Kind: job.RecordJob, Name: name, Rev: rev, Value: j}
	}
	audit := func(verb string, rev int64) job.Change {
		return job.Change{Kind: job.RecordAudit, Rev: rev, Value: &job.Audit{Verb: verb, Rev: rev}}
	}
	records := []job.Change{
		def("before-the-trail", job.OriginAPI, 8), def("recorded", job.OriginAPI, 20), def("by-hand", job.OriginAPI, 21),
		def("of-a-file", job.OriginFile, 22),
		{Kind: job.RecordLimit, Name: "db", Rev: 23, Value: &job.Limit{Name: "db", Rev: 23}},
		{Kind: job.RecordGate, Rev: 24, Value: &job.Gate{Rev: 24}},
		audit("submit-run", 5), audit("put-job", 10), audit("put-job", 20),
	}
	notes := strings.Join(verify.Check(verify.Input{Records: records}).Notes, "\n")
	for _, want := range []string{"job by-hand was changed outside of the API: no audit record has its revision 21", "limit db", "the pause of all jobs"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note has %q:\n%s", want, notes)
		}
	}
	for _, not := range []string{"before-the-trail", "recorded", "of-a-file"} {
		if strings.Contains(notes, "job "+not) {
			t.Errorf("a note names %s:\n%s", not, notes)
		}
	}
	if notes := verify.Check(verify.Input{Records: records[:4]}).Notes; len(notes) > 0 {
		t.Errorf("without an audit trail: %v", notes)
	}
}

func TestRemovalsByHandAreNoted(t *testing.T) {
	audit := func(h *history, verb string) job.Change {
		return job.Change{Kind: job.RecordAudit, Name: verb, Value: &job.Audit{Verb: verb, Rev: h.rev + 1}}
	}
	removal := func() job.Change { return job.Change{Kind: job.RecordJob, Name: "tick"} }
	without := func() job.Change { return job.Change{Kind: job.RecordCursor, Name: "tick"} }
	for name, tt := range map[string]struct {
		change func(h *history)
		want   string
	}{
		"by the API":  {func(h *history) { h.write(removal(), without(), audit(h, "delete-job")) }, ""},
		"by hand":     {func(h *history) { h.write(removal()) }, "job tick was removed outside of the API"},
		"its remains": {func(h *history) { h.write(removal()); h.log = nil }, "job tick has a cursor but no definition"},
		"an unreadable definition": {func(h *history) {
			h.records["jobs/tick"] = job.Change{Kind: job.RecordJob, Name: "tick", Key: "/rota/jobs/tick", Bad: errors.New("bad")}
		}, "is unreadable"},
		"an unreadable limit in use": {func(h *history) {
			h.records["limits/db"] = job.Change{Kind: job.RecordLimit, Name: "db", Key: "/rota/limits/db", Bad: errors.New("bad")}
			h.write(h.def(func(j *job.Job) { j.Generation, j.Spec.Limits = 2, []string{"db"} }), audit(h, "put-job"))
		}, "is unreadable"},
		"a limit in use": {func(h *history) {
			h.write(h.def(func(j *job.Job) { j.Generation, j.Spec.Limits = 2, []string{"db"} }), audit(h, "put-job"))
		}, "job tick names the limit db, which is not defined"},
		"a parent": {func(h *history) {
			h.write(h.def(func(j *job.Job) { j.Generation, j.Spec.After = 2, []job.After{{Job: "gone"}} }), audit(h, "put-job"))
		}, `job tick never runs as a step: parent "gone" is not defined`},
		"a cycle": {func(h *history) {
			h.write(h.def(func(j *job.Job) { j.Generation, j.Spec.After = 2, []job.After{{Job: "tick"}} }), audit(h, "put-job"))
		}, "job tick never runs as a step: after makes a cycle"},
	} {
		t.Run(name, func(t *testing.T) {
			h := usual()
			h.write(h.def(func(j *job.Job) { j.Origin.Kind = job.OriginAPI }), audit(h, "put-job"))
			tt.change(h)
			notes := verify.Check(h.input()).Notes
			if tt.want == "" && len(notes) > 0 || !strings.Contains(strings.Join(notes, "\n"), tt.want) {
				t.Errorf("got %q, want a note with %q", notes, tt.want)
			}
			if tt.want == "is unreadable" && len(notes) != 1 {
				t.Errorf("got %q, want one note", notes)
			}
		})
	}
}
