package job_test

import (
	"encoding/json"
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
			var r job.Run
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
