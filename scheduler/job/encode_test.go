package job_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// plain returns the JSON that encoding/json makes of a record.
func plain(t interface{ Fatal(...any) }, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

var (
	texts = rapid.OneOf(rapid.SampledFrom([]string{"", "backup", "q1", "exit status 1", "a\"b\\c\n\td <&>", "grün", "\x00\x1f", "\xff", "\u2028", "\x7f"}), rapid.String())
	times = rapid.Custom(func(t *rapid.T) time.Time {
		at := time.Unix(rapid.Int64Range(-62_160_000_000, 253_402_290_000).Draw(t, "second"), rapid.SampledFrom([]int64{0, 1, 1000, 120_000_000, 999_999_999}).Draw(t, "nanos"))
		switch rapid.IntRange(0, 10).Draw(t, "zone") {
		case 0:
			return time.Time{}
		case 1:
			return at.In(time.FixedZone("", 3600))
		}
		return at.UTC()
	})
	numbers = rapid.OneOf(rapid.SampledFrom([]int64{0, 1, -1, 1 << 62}), rapid.Int64())
	exits   = rapid.Custom(func(t *rapid.T) *int {
		if n := rapid.IntRange(-2, 300).Draw(t, "exit"); n != -2 {
			return &n
		}
		return nil
	})
	states = rapid.SampledFrom(append(job.States(), "", "strange"))

	attempts = rapid.Custom(func(t *rapid.T) job.Attempt {
		return job.Attempt{
			Number: int(numbers.Draw(t, "number")), Worker: texts.Draw(t, "worker"), Token: numbers.Draw(t, "token"),
			Started: times.Draw(t, "started"), Finished: times.Draw(t, "finished"), State: states.Draw(t, "state"),
			Reason: texts.Draw(t, "reason"), Exit: exits.Draw(t, "exit"), GivenUp: rapid.Bool().Draw(t, "given up"),
		}
	})
	followed = rapid.Custom(func(t *rapid.T) job.Parent {
		return job.Parent{
			Job: texts.Draw(t, "parent"), ID: texts.Draw(t, "parent id"), When: job.When(texts.Draw(t, "when")),
			State: states.Draw(t, "parent state"), Outputs: rapid.Bool().Draw(t, "outputs"),
		}
	})
	runs = rapid.Custom(func(t *rapid.T) job.Run {
		r := job.Run{
			Job: texts.Draw(t, "job"), ID: texts.Draw(t, "id"),
			Kind:    rapid.SampledFrom([]job.RunKind{job.KindScheduled, job.KindManual, "", "x"}).Draw(t, "kind"),
			Slot:    times.Draw(t, "slot"),
			Due:     times.Draw(t, "due"),
			State:   states.Draw(t, "state"),
			Reason:  texts.Draw(t, "reason"),
			Late:    rapid.Bool().Draw(t, "late"),
			Attempt: int(numbers.Draw(t, "attempt")), Worker: texts.Draw(t, "worker"), Session: texts.Draw(t, "session"),
			Token: numbers.Draw(t, "token"), Armed: times.Draw(t, "armed"), Started: times.Draw(t, "started"),
			Finished: times.Draw(t, "finished"), LostMore: int(numbers.Draw(t, "lost more")),
			Exit: exits.Draw(t, "exit"), Output: texts.Draw(t, "output"),
			Key: texts.Draw(t, "key"), RetryOf: texts.Draw(t, "retry of"), By: texts.Draw(t, "by"),
			Created: times.Draw(t, "created"), Generation: numbers.Draw(t, "generation"), Term: numbers.Draw(t, "term"),
			Op: texts.Draw(t, "op"), Rev: 7, Ahead: rapid.Bool().Draw(t, "ahead"), Bound: job.Duration(numbers.Draw(t, "bound")),
		}
		if rapid.Bool().Draw(t, "limited") {
			r.Limits = rapid.SliceOfN(texts, 1, 3).Draw(t, "limits")
		}
		if rapid.Bool().Draw(t, "tried") {
			r.Attempts = rapid.SliceOfN(attempts, 1, 3).Draw(t, "attempts")
		}
		if rapid.Bool().Draw(t, "step") {
			r.After, r.SlotSkipped = rapid.SliceOfN(followed, 1, 3).Draw(t, "after"), rapid.Bool().Draw(t, "slot skipped")
			r.Followed = rapid.Bool().Draw(t, "followed")
		}
		switch rapid.IntRange(0, 20).Draw(t, "rare") {
		case 0:
			r.Cancel = &job.Cancel{At: r.Due}
		case 1:
			r.Payload = json.RawMessage(`{"a": 1}`)
		case 2:
			r.Spec = &job.Spec{Shell: "true"}
		case 3:
			r.Outputs = map[string]string{"rows": texts.Draw(t, "rows")}
		}
		return r
	})
	cursors = rapid.Custom(func(t *rapid.T) job.Cursor {
		var beyond []time.Time
		if rapid.Bool().Draw(t, "overtaken") {
			beyond = rapid.SliceOfN(times, 1, 3).Draw(t, "beyond")
		}
		return job.Cursor{
			Beyond: beyond, Job: texts.Draw(t, "job"), After: times.Draw(t, "after"), Next: times.Draw(t, "next"),
			Generation: numbers.Draw(t, "generation"), Term: numbers.Draw(t, "term"), Op: texts.Draw(t, "op"), Rev: 7,
		}
	})
	outcomes = rapid.Custom(func(t *rapid.T) job.Outcome {
		return job.Outcome{
			State: states.Draw(t, "state"), At: times.Draw(t, "at"), Reason: texts.Draw(t, "reason"), Exit: exits.Draw(t, "exit"),
			Output: texts.Draw(t, "output"), Retry: rapid.Bool().Draw(t, "retry"), After: time.Duration(numbers.Draw(t, "after")),
		}
	})
)

// definitions draws jobs. Their fields are those that ParseJSON knows; some jobs also have others.
var definitions = rapid.Custom(func(t *rapid.T) job.Job {
	durations := rapid.SampledFrom([]job.Duration{0, job.Duration(time.Second), job.Duration(90 * time.Minute)})
	instants := rapid.Custom(func(t *rapid.T) *time.Time {
		if at := times.Draw(t, "at"); rapid.Bool().Draw(t, "set") {
			return &at
		}
		return nil
	})
	lists := rapid.SliceOfN(texts, 0, 2)
	j := job.Job{
		Name: texts.Draw(t, "name"), Origin: job.Origin{Kind: texts.Draw(t, "kind"), Source: texts.Draw(t, "source")},
		Generation: numbers.Draw(t, "generation"), Created: times.Draw(t, "created"), Updated: times.Draw(t, "updated"),
		Since: times.Draw(t, "since"), SinceReason: texts.Draw(t, "reason"),
		SinceGeneration: numbers.Draw(t, "since generation"), Scheduled: times.Draw(t, "scheduled"), Notified: times.Draw(t, "notified"), Op: texts.Draw(t, "op"),
		Spec: &job.Spec{
			Description: texts.Draw(t, "description"), Schedule: lists.Draw(t, "schedule"), Every: durations.Draw(t, "every"),
			At: rapid.SliceOfN(times, 0, 2).Draw(t, "at"), Timezone: texts.Draw(t, "zone"), Start: instants.Draw(t, "start"),
			End: instants.Draw(t, "end"), Exclude: lists.Draw(t, "exclude"), Jitter: durations.Draw(t, "jitter"),
			Missed: job.Missed(texts.Draw(t, "missed")), MissedWindow: durations.Draw(t, "window"), MissedLimit: int(numbers.Draw(t, "limit")),
			Overlap: job.Overlap(texts.Draw(t, "overlap")), Delivery: job.Delivery(texts.Draw(t, "delivery")),
			Timeout: durations.Draw(t, "timeout"), KillGrace: durations.Draw(t, "grace"),
			Heartbeat: durations.Draw(t, "heartbeat"), Priority: int(numbers.Draw(t, "priority")),
			Command: lists.Draw(t, "command"), Shell: texts.Draw(t, "shell"), Handler: texts.Draw(t, "handler"), Dir: texts.Draw(t, "dir"),
		},
	}
	if rapid.Bool().Draw(t, "was rescheduled") {
		j.Jittered = new(durations.Draw(t, "jittered"))
	}
	if rapid.Bool().Draw(t, "was paused") {
		j.Pauses = []job.PastPause{{From: times.Draw(t, "from"), Until: times.Draw(t, "until")}, {}}[:rapid.IntRange(1, 2).Draw(t, "pauses")]
	}
	switch rapid.IntRange(0, 10).Draw(t, "rare") {
	case 0:
		j.Spec.DST = &job.DST{Gap: texts.Draw(t, "gap"), Fold: texts.Draw(t, "fold")}
	case 1:
		j.Spec.Retry = &job.Retry{Max: 3}
	case 2:
		j.Paused = &job.Pause{By: "me"}
	case 3:
		j.Spec.HTTP = &job.HTTP{URL: "http://x"}
	case 4:
		j.Spec.Env = map[string]string{"A": "b"}
	case 5:
		j.Spec.Resources = &job.Resources{Memory: 1 << 20, CPU: 500}
	case 6:
		*j.Spec = j.Spec.WithDefaults()
	case 7, 8:
		j.Spec.Notify = rapid.MapOfN(texts, rapid.Custom(func(t *rapid.T) job.Notifier {
			return job.Notifier{URL: texts.Draw(t, "url"), When: rapid.SampledFrom([][]job.Occasion{nil, {}, job.Occasions(), {job.OnLost}}).Draw(t, "when"),
				After: rapid.IntRange(0, 2).Draw(t, "after"), Repeat: job.Duration(rapid.IntRange(0, 1).Draw(t, "repeat")) * job.Duration(time.Hour),
				Template: rapid.SampledFrom([]string{"", `{"a": {{ json .Title }}}`}).Draw(t, "template")}
		}), 0, 2).Draw(t, "notify")
	case 9:
		j.Spec.Limits, j.Spec.Rate = lists.Draw(t, "limits"), job.Rate{Count: 10, Per: time.Minute}
	case 10:
		j.Spec.Breaker = &job.Breaker{Window: 10}
	}
	return j
})

// record is a type with AppendJSON and ParseJSON.
type record[T any] interface {
	*T
	AppendJSON(b []byte) ([]byte, bool)
}

// sameText checks that AppendJSON either returns false or writes the same text as encoding/json.
func sameText[T any, P record[T]](t *rapid.T, v T) {
	got, ok := P(&v).AppendJSON([]byte("x"))
	switch {
	case !ok && string(got) != "x":
		t.Fatalf("AppendJSON left %q behind", got)
	case ok && string(got[1:]) != string(plain(t, v)):
		t.Fatalf("AppendJSON:  %s\nencoding/json: %s", got[1:], plain(t, v))
	}
}

func TestAppendJSONWritesWhatEncodingJSONDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameText[job.Run](t, runs.Draw(t, "run"))
		sameText[job.Cursor](t, cursors.Draw(t, "cursor"))
		sameText[job.Outcome](t, outcomes.Draw(t, "outcome"))
	})
}

// TestNoFieldIsForgotten fills the fields of each record one by one. If AppendJSON and ParseJSON do not know a new
// field, its value would be lost.
func TestNoFieldIsForgotten(t *testing.T) {
	number := 3
	samples := []any{
		"text", true, 7, int64(7), &number, time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC), time.Second, job.Duration(time.Minute),
		job.KindManual, job.Failed, []job.Attempt{{Number: 1}}, []job.Run{{Job: "a"}}, []int64{4}, []string{"x"},
		map[string]string{"a": "b"}, []job.Parent{{Job: "a", When: job.WhenDone, State: job.Failed, Outputs: true}},
		[]time.Time{time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)}, &job.Cancel{By: "me"}, &job.Approval{Who: "me"}, json.RawMessage(`1`), &job.Spec{Shell: "true"},
	}
	fill := func(v reflect.Value, try func()) {
		for i := range v.NumField() {
			f := v.Field(i)
			at := slices.IndexFunc(samples, func(s any) bool { return reflect.TypeOf(s) == f.Type() })
			if at < 0 {
				t.Fatalf("no sample for field %s of %s", v.Type().Field(i).Name, v.Type())
			}
			f.Set(reflect.ValueOf(samples[at]))
			try()
			f.SetZero()
		}
	}
	var (
		r job.Run
		a = job.Run{Attempts: []job.Attempt{{}}}
		c job.Cursor
		o job.Outcome
	)
	write := func(v any, short func([]byte) ([]byte, bool)) {
		t.Helper()
		if got, ok := short(nil); ok && string(got) != string(plain(t, v)) {
			t.Errorf("AppendJSON:  %s\nencoding/json: %s", got, plain(t, v))
		}
	}
	fill(reflect.ValueOf(&r).Elem(), func() { write(r, r.AppendJSON) })
	fill(reflect.ValueOf(&a.Attempts[0]).Elem(), func() { write(a, a.AppendJSON) })
	fill(reflect.ValueOf(&c).Elem(), func() { write(c, c.AppendJSON) })
	fill(reflect.ValueOf(&o).Elem(), func() { write(o, o.AppendJSON) })
}

// TestAppendJSONWritesSpans compares with encoding/json the spans for which AppendJSON has code of its own.
func TestAppendJSONWritesSpans(t *testing.T) {
	for _, s := range []int64{0, 1, 59, 60, 61, 3599, 3600, 3601, 3660, 3661, 7210, 86400, 1<<33 - 1, -1, -3600} {
		for _, more := range []time.Duration{0, 1, time.Millisecond} {
			r := finished()
			r.Bound = job.Duration(time.Duration(s)*time.Second + more)
			got, ok := r.AppendJSON(nil)
			if want := plain(t, r); !ok || !bytes.Equal(got, want) {
				t.Errorf("%v: got %s, want %s", r.Bound, got, want)
			}
		}
	}
}
