package job_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "0", "nightly-backup", "a--b", "3am", strings.Repeat("x", 63)} {
		if err := job.CheckName(good); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"":                      "is empty",
		strings.Repeat("x", 64): "has 64 bytes: use at most 63",
		strings.Repeat("ä", 40): "has 80 bytes",
		"-a":                    `for example "a"`,
		"a-":                    `for example "a"`,
		"-":                     "position 1",
		"Nightly_Backup":        `for example "nightly-backup"`,
		"a/b":                   `"/" is not allowed at position 2`,
		"a.b":                   `for example "a-b"`,
		"a b":                   "position 2",
		"ü":                     `"ü" is not allowed at position 1`,
		"a\x00":                 "position 2",
	} {
		if err := job.CheckName(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", bad, err, want)
		}
	}
}

func TestDurationJSON(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1s": time.Second, "1m": time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "1m30s": 90 * time.Second,
		"10m": 10 * time.Minute, "100ms": 100 * time.Millisecond, "1h0m1s": time.Hour + time.Second, "-1m": -time.Minute,
		"20h": 20 * time.Hour, "10s": 10 * time.Second, "1h0m0.5s": time.Hour + time.Second/2,
	} {
		b, err := json.Marshal(job.Duration(d))
		if err != nil || string(b) != `"`+want+`"` {
			t.Errorf("%v: got %s, %v, want %q", d, b, err, want)
		}
		var back job.Duration
		if err := json.Unmarshal(b, &back); err != nil || back.Std() != d {
			t.Errorf("%s: read as %v, %v, want %v", b, back, err, d)
		}
	}
	for _, bad := range []string{`5`, `"5"`, `"five"`, `""`, `{}`, `"5 s"`} {
		var d job.Duration
		if err := json.Unmarshal([]byte(bad), &d); err == nil || !strings.Contains(err.Error(), `"30s"`) {
			t.Errorf("%s: got %v, %v, want an error that says how to write it", bad, d, err)
		}
	}
}

func TestSpecJSON(t *testing.T) {
	const in = `{"every":"1h30m","retry":{"max":3},"http":{"url":"http://x","body":"b"}}`
	var s job.Spec
	if err := json.Unmarshal([]byte(in), &s); err != nil {
		t.Fatal(err)
	}
	full := s.WithDefaults()
	if full.Missed != job.MissedLatest || full.Overlap != job.OverlapSkip || full.Delivery != job.AtLeastOnce ||
		full.Retry.Backoff != job.BackoffExponential || full.HTTP.Method != http.MethodPost || full.MissedLimit != 100 || full.Timezone != "UTC" {
		t.Errorf("defaults: %+v", full)
	}
	if s.Retry.Backoff != "" || s.HTTP.Method != "" || s.DST != nil {
		t.Error("WithDefaults touched its receiver")
	}
	b, err := json.Marshal(s)
	if err != nil || string(b) != in {
		t.Errorf("got %s, %v, want %s", b, err, in)
	}
	if s.Kind() != "http" || !s.Scheduled() {
		t.Errorf("kind %q, scheduled %v", s.Kind(), s.Scheduled())
	}
}

func TestWorkerAccepts(t *testing.T) {
	w := job.Worker{Labels: map[string]string{"zone": "a", "disk": "ssd"}, Handlers: []string{"charge"}}
	for name, c := range map[string]struct {
		spec job.Spec
		want bool
	}{
		"anything":           {job.Spec{}, true},
		"its zone":           {job.Spec{Workers: map[string]string{"zone": "a"}}, true},
		"another zone":       {job.Spec{Workers: map[string]string{"zone": "b"}}, false},
		"a label it lacks":   {job.Spec{Workers: map[string]string{"gpu": "yes"}}, false},
		"one of two":         {job.Spec{Workers: map[string]string{"zone": "a", "gpu": "yes"}}, false},
		"its handler":        {job.Spec{Handler: "charge"}, true},
		"a handler it lacks": {job.Spec{Handler: "refund"}, false},
	} {
		if got := w.Accepts(&c.spec); got != c.want {
			t.Errorf("%s: accepted %v, want %v", name, got, c.want)
		}
	}
	w.Draining = true
	if w.Accepts(&job.Spec{}) {
		t.Error("a worker that drains accepts a run")
	}
}

func TestChangeDeleted(t *testing.T) {
	if !(job.Change{Kind: job.RecordJob, Name: "x"}).Deleted() {
		t.Error("a change without a record is not a deletion")
	}
	for name, c := range map[string]job.Change{
		"job": {Value: &job.Job{}}, "cursor": {Value: &job.Cursor{}}, "run": {Value: &job.Run{}}, "worker": {Value: &job.Worker{}},
		"replica": {Value: &job.Replica{}}, "gate": {Value: &job.Gate{}}, "files": {Value: &job.Files{}}, "event": {Value: &job.Event{}},
		"garbage": {Bad: job.ErrNotFound},
	} {
		if c.Deleted() {
			t.Errorf("%s: counts as deleted", name)
		}
	}
}
