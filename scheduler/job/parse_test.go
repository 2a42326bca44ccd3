package job_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// sameValue checks that ParseJSON either returns false or reads the same value as encoding/json. It reports whether ParseJSON read
// the text.
func sameValue[T any, P interface {
	*T
	ParseJSON([]byte) bool
}](t interface {
	Fatalf(string, ...any)
	Helper()
}, text []byte) bool {
	t.Helper()
	var got, want T
	if !P(&got).ParseJSON(text) {
		return false
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("ParseJSON takes what encoding/json refuses (%v): %q", err, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("of %s (-encoding/json +ParseJSON):\n%s", text, diff)
	}
	return true
}

func TestParseJSONReadsWhatEncodingJSONDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameValue[job.Run](t, plain(t, runs.Draw(t, "run")))
		sameValue[job.Cursor](t, plain(t, cursors.Draw(t, "cursor")))
		sameValue[job.Job](t, plain(t, definitions.Draw(t, "definition")))
		sameValue[job.Order](t, plain(t, job.Order{
			ID: texts.Draw(t, "id"), Session: texts.Draw(t, "session"), Runs: rapid.SliceOfN(runs, 0, 3).Draw(t, "runs"),
			JobRevs: rapid.SliceOfN(numbers, 0, 3).Draw(t, "revisions"), Stop: rapid.SliceOfN(texts, 0, 3).Draw(t, "stop"),
		}))
	})
}

// finished returns a run with the fields that most runs have.
func finished() job.Run {
	at := time.Date(2026, 11, 21, 2, 30, 0, 120_000_000, time.UTC)
	r := job.Run{
		Job: "backup", ID: "2026-11-21T02:30:00Z", Kind: job.KindScheduled, Slot: at, Due: at, State: job.Pending, Created: at,
		Generation: 3, Term: 17, Op: "q1.gc9z1-4k",
	}
	r, _ = r.Assign(&job.Worker{Name: "q1", Session: "694d9a1c2b3d4e5f"})
	r.Armed = at
	r, _ = r.Claim(123456, at)
	r, _ = r.Finish(job.Outcome{State: job.Succeeded, At: at, Output: "done\n"})
	return r
}

func TestUsualRecordsUseTheFastCodec(t *testing.T) {
	r := finished()
	if _, ok := r.AppendJSON(nil); !ok {
		t.Fatal("AppendJSON leaves a usual run to encoding/json")
	}
	r.Output = "" // the output contains a line break, which ParseJSON does not read
	text, ok := r.AppendJSON(nil)
	if !ok || !sameValue[job.Run](t, text) {
		t.Errorf("ParseJSON leaves a usual run to encoding/json: %s", text)
	}
	c := job.Cursor{Job: r.Job, After: r.Slot, Next: r.Due, Generation: 1, Term: 2, Op: r.Op}
	if text, ok = c.AppendJSON(nil); !ok || !sameValue[job.Cursor](t, text) {
		t.Errorf("a usual cursor is left to encoding/json: %s", text)
	}
	j, _ := job.Define(nil, "backup", job.Spec{Schedule: []string{"30 2 * * *"}, Command: []string{"true"}, Notify: job.Notify{"ops": {URL: "ntfy://x/y"}}}, job.Origin{Kind: job.OriginFile, Source: "jobs.yaml"}, r.Slot)
	j, _ = j.SetPause(&job.Pause{At: r.Slot}, r.Slot)
	j, _ = j.SetPause(nil, r.Due)
	if text := plain(t, j); !sameValue[job.Job](t, text) {
		t.Errorf("a usual definition is left to encoding/json: %s", text)
	}
	if text := plain(t, job.Order{ID: "x", Session: "y", Runs: []job.Run{r, r}, JobRevs: []int64{1, 2}, Stop: []string{"a/b"}}); !sameValue[job.Order](t, text) {
		t.Errorf("a usual order is left to encoding/json: %s", text)
	}
}

// TestParseJSONReadsTimesAndSpans compares with encoding/json the forms for which ParseJSON has code of its own.
func TestParseJSONReadsTimesAndSpans(t *testing.T) {
	const (
		start = "2026-11-21T02:30:00Z"
		text  = `{"job":"a","id":"b","kind":"manual","slot":%q,"due":"2026-11-21T02:30:00Z","state":"running","bound":%q,"created":%q}`
	)
	for span, want := range map[string]bool{
		"1h": true, "90m": true, "1h0m10s": true, "30s": true, "7m7m": true, "999999h": true, "999999h9h": true, "1500h59m59s": true, "0000001h": true, "0s": true,
		"100ms": true, "1.5s": true, "2us": true, "-3m": true, "+3m": true,
		"": false, "5": false, "m": false, "s5": false, "5x": false, "5m3": false, "9999999h": false, "9h9h9": false, "5 m": false,
	} {
		if read := sameValue[job.Run](t, fmt.Appendf(nil, text, start, span, start)); read != want {
			t.Errorf("span %q: read %v, want %v", span, read, want)
		}
	}
	for at, want := range map[string]bool{
		start: true, "2024-02-29T23:59:59.000000001Z": true, "2026-11-30T00:00:00.5Z": true, "0001-01-01T00:00:00Z": true,
		"9999-12-31T23:59:59.999999999Z": true, "2026-11-21T02:30:00.120Z": true,
		"": false, "Z": false, "2026-02-29T00:00:00Z": false, "2026-11-31T00:00:00Z": false, "2026-13-01T00:00:00Z": false,
		"2026-00-01T00:00:00Z": false, "2026-01-00T00:00:00Z": false, "2026-11-21T24:00:00Z": false, "2026-11-21T02:60:00Z": false,
		"2026-11-21T02:30:60Z": false, "2026-11-21T02:30:00.Z": false, "2026-11-21T02:30:00.0000000001Z": false,
		"2026-11-21T02:30:00,5Z": false, "2026-11-21T02:30:00.5xZ": false, "2026-11-21 02:30:00Z": false, "2026-1x-21T02:30:00Z": false,
		"2026-11-21T02:30:00+01:00": false, "2026-11-21T02:30:00Z ": false, "+026-11-21T02:30:00Z": false,
	} {
		if read := sameValue[job.Run](t, fmt.Appendf(nil, text, at, "1h", at)); read != want {
			t.Errorf("time %q: read %v, want %v", at, read, want)
		}
	}
}

// TestAllocationsOfTheCodec bounds the allocations to write and to read the records of a plain run.
func TestAllocationsOfTheCodec(t *testing.T) {
	ended := finished()
	ended.Output = ""
	ended.Bound = job.Duration(time.Hour + 10*time.Second)
	armed := ended
	armed.State, armed.Attempts, armed.Finished = job.Armed, nil, time.Time{}
	cursor := job.Cursor{Job: "backup", After: ended.Slot, Next: ended.Due, Generation: 1, Term: 2, Op: ended.Op}
	order := job.Order{ID: "x", Session: "y", Runs: []job.Run{armed, armed, armed, armed}, JobRevs: []int64{1, 2, 3, 4}}
	parse := func(r interface{ ParseJSON([]byte) bool }, text []byte) func() {
		return func() {
			if !r.ParseJSON(text) {
				t.Error("not parsed")
			}
		}
	}
	b := make([]byte, 0, 2048)
	for _, tt := range []struct {
		name string
		most float64
		do   func()
	}{
		{"an ended run, written", 0, func() { ended.AppendJSON(b) }},
		{"an ended run", 3, parse(new(job.Run), plain(t, ended))},
		{"an armed run", 1, parse(new(job.Run), plain(t, armed))},
		{"a cursor", 1, parse(new(job.Cursor), plain(t, cursor))},
		{"an order of four runs", 10, parse(new(job.Order), plain(t, order))},
	} {
		if got := testing.AllocsPerRun(100, tt.do); got > tt.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", tt.name, got, tt.most)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	r := finished()
	f.Add(plain(f, r))
	r.Output = ""
	f.Add(plain(f, r))
	f.Add(plain(f, job.Cursor{Job: "backup", After: r.Slot, Next: r.Due, Generation: 1}))
	f.Add(plain(f, job.Order{ID: "x", Session: "y", Runs: []job.Run{r}, JobRevs: []int64{0}, Stop: []string{"a/b"}}))
	j, _ := job.Define(nil, "backup", job.Spec{Every: job.Duration(time.Minute), Shell: "true", Notify: job.Notify{"ops": {URL: "x"}, "b": {URL: "y"}}}, job.Origin{Kind: job.OriginAPI}, r.Slot)
	f.Add(plain(f, j))
	j.Spec.Limits, j.Spec.Rate = []string{"database"}, job.Rate{Count: 1, Per: time.Second}
	f.Add(plain(f, j))
	f.Add([]byte(`{"job":"a","after":"2026-02-29T00:00:00Z","generation":01,"term":-0}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		sameValue[job.Run](t, text)
		sameValue[job.Cursor](t, text)
		sameValue[job.Order](t, text)
		sameValue[job.Job](t, text)
	})
}

func BenchmarkRunJSON(b *testing.B) {
	r := finished()
	r.Output = ""
	text := plain(b, r)
	b.Run("AppendJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.AppendJSON(make([]byte, 0, 640))
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(r)
		}
	})
	b.Run("ParseJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := new(job.Run)
			if !r.ParseJSON(text) {
				b.Fatal("not parsed")
			}
		}
	})
	b.Run("encoding-json-read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var r job.Run
			_ = json.Unmarshal(text, &r)
		}
	})
}
