package cluster

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestDoctor examines a cluster that is well, one in which several things are wrong, and one without a majority. The command finds
// exactly what was done to them.
func TestDoctor(t *testing.T) {
	row(t)
	t.Parallel()
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{"ping": {Every: job.Duration(time.Second), Shell: "true"}}})
	c.WaitReady()
	examine := func(wantCode int) (findings []string) {
		t.Helper()
		out, code := Command(t, binary, "doctor", "--endpoints="+strings.Join(c.Endpoints(), ","), "-o", "json")
		_, report, _ := strings.Cut(out, "{") // a note that another replica answers may precede it
		report, _, _ = strings.Cut(report, "\n}\n")
		var r doctor.Report
		if err := json.Unmarshal([]byte("{"+report+"}"), &r); err != nil || code != wantCode {
			t.Fatalf("exit code %d, want %d: %v\n%s", code, wantCode, err, out)
		}
		for _, f := range r.Findings {
			findings = append(findings, f.Area+" "+f.Subject+": "+f.Text)
		}
		return findings
	}
	has := func(findings []string, part string) bool {
		return strings.Contains(strings.Join(findings, "\n"), part)
	}
	Await(t, 20*time.Second, "nothing is found", func() bool {
		out, code := Command(t, binary, "doctor", "--endpoints="+strings.Join(c.Endpoints(), ","))
		return code == 0 && strings.Contains(out, "0 findings")
	})

	if _, err := c.Recorder.client.Put(t.Context(), Prefix+"/jobs/broken", "{"); err != nil {
		t.Fatal(err)
	}
	far := job.Spec{Every: job.Duration(time.Hour), Shell: "true", Workers: map[string]string{"zone": "moon"}}
	if _, _, err := c.Client.PutJob(t.Context(), "far", far, api.Precondition{Absent: true}); err != nil {
		t.Fatal(err)
	}
	gone := c.Others(c.Leader())[0]
	gone.Kill()
	Await(t, 20*time.Second, "three things are found", func() bool {
		f := examine(1)
		return has(f, "records "+Prefix+"/jobs/broken: ") && has(f, "jobs far: No worker accepts its runs: none has the labels zone=moon.") &&
			has(f, "etcd ") && has(f, "The member does not answer")
	})

	c.Leader().Kill()
	over := c.Outage()
	if f := examine(1); !has(f, "The store cannot be read") {
		t.Errorf("without a majority: got %q", f)
	}
	c.startAll()
	over()
}
