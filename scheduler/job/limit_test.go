package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestRate(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1/s": time.Second, "10/s": 100 * time.Millisecond, "100000/s": 10 * time.Microsecond,
		"3/s": 333_333_334 * time.Nanosecond, "2/m": 30 * time.Second, "1/h": time.Hour,
	} {
		r, err := job.ParseRate(text)
		if err != nil || r.Interval() != want || r.String() != text {
			t.Errorf("%s: got %v with interval %v, %v, want %v", text, r, r.Interval(), err, want)
		}
		if r.Interval()*time.Duration(r.Count) < r.Per {
			t.Errorf("%s: %d intervals of %v are less than %v", text, r.Count, r.Interval(), r.Per)
		}
	}
	for _, text := range []string{"", "10", "/s", "0/s", "-1/s", "010/s", "+1/s", "1.5/s", "10/d", "10/sec", "10 /s", "100001/s", "10/s "} {
		if r, err := job.ParseRate(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, r)
		}
	}
	if d := (job.Rate{}).Interval(); d != 0 || !(job.Rate{}).IsZero() {
		t.Errorf("the zero rate has the interval %v", d)
	}
}

func TestRateInJSON(t *testing.T) {
	s := job.Spec{Rate: job.Rate{Count: 10, Per: time.Second}}
	text, err := json.Marshal(s)
	if err != nil || string(text) != `{"rate":"10/s"}` {
		t.Fatalf("got %s, %v", text, err)
	}
	var back job.Spec
	if err := json.Unmarshal(text, &back); err != nil || back.Rate != s.Rate {
		t.Errorf("got %v, %v", back.Rate, err)
	}
	if text, _ := json.Marshal(job.Spec{}); string(text) != `{}` {
		t.Errorf("no rate is written as %s", text)
	}
}

func TestDefineLimit(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	file, api := job.Origin{Kind: job.OriginFile, Source: "a.yaml"}, job.Origin{Kind: job.OriginAPI}
	first, changed := job.DefineLimit(nil, "database", job.LimitSpec{Concurrent: 4}, file, now)
	if !changed || first.Generation != 1 || first.Name != "database" {
		t.Fatalf("got %+v", first)
	}
	if _, changed := job.DefineLimit(&first, "database", job.LimitSpec{Concurrent: 4}, file, now.Add(time.Hour)); changed {
		t.Error("the same is a change")
	}
	if next, changed := job.DefineLimit(&first, "database", job.LimitSpec{Concurrent: 5}, file, now.Add(time.Hour)); !changed || next.Generation != 2 {
		t.Errorf("another number: got %+v", next)
	}
	if next, changed := job.DefineLimit(&first, "database", job.LimitSpec{Concurrent: 4}, api, now.Add(time.Hour)); !changed || next.Generation != 1 {
		t.Errorf("another owner: got %+v", next)
	}
}

func TestRecalledRunHoldsNoLimits(t *testing.T) {
	r := job.Run{Job: "a", ID: "b", State: job.Pending}
	armed, err := r.Assign(&job.Worker{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	armed.Limits = []string{"database"}
	if next, err := armed.Recall("later"); err != nil || next.Limits != nil {
		t.Errorf("recalled: %v, %v", next.Limits, err)
	}
	if next, err := armed.Stop(job.Cancel{}); err != nil || next.Limits != nil {
		t.Errorf("canceled: %v, %v", next.Limits, err)
	}
}
