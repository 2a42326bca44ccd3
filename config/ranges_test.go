package config

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A zero that means nothing in a file is refused in a file and in a request.
func TestRequestsRefuseTheZerosThatFilesRefuse(t *testing.T) {
	zeros := []any{"", "0s", 0, []any{}, map[string]any{}}
	for _, at := range []string{
		"description", "schedule", "every", "at", "timezone", "dst", "start", "end", "exclude", "jitter", "missed", "missed_window",
		"missed_limit", "overlap", "delivery", "timeout", "kill_grace", "heartbeat", "priority", "workers", "limits", "rate", "breaker",
		"breaker.window", "breaker.failure_ratio", "breaker.open_for", "retry.min", "retry.max_delay", "command", "env", "dir",
		"resources", "resources.memory", "resources.cpu", "resources.pids", "notify.ops.when", "http.method", "http.headers",
		"http.expect",
	} {
		for _, zero := range zeros {
			j := map[string]any{"shell": "true"}
			switch family, name, nested := strings.Cut(at, "."); {
			case family == "http":
				j = map[string]any{"http": map[string]any{"url": "http://127.0.0.1:1", name: zero}}
			case family == "retry":
				j["retry"] = map[string]any{"max": 1, name: zero}
			case family == "notify":
				j["notify"] = map[string]any{"ops": map[string]any{"url": "generic://x", "when": zero}}
			case at == "command":
				j = map[string]any{"command": zero}
			case nested:
				j[family] = map[string]any{name: zero}
			default:
				j[at] = zero
			}
			body, err := json.Marshal(j)
			if err != nil {
				t.Fatal(err)
			}
			_, inFile := ParseJobs("jobs.yaml", []byte(`{"version": 1, "jobs": {"j": `+string(body)+`}}`))
			if _, err := ParseJob("j", body, nothing); (err == nil) != (inFile == nil) {
				t.Errorf("%s: a request gets %v, a file %v", body, err, inFile)
			}
		}
	}
}

// A job file and a record in the store allow the same ranges.
func TestRecordsHaveTheRangesOfJobFiles(t *testing.T) {
	for name, spec := range everySpec() {
		if err := new(spec.WithDefaults()).Check(); err != nil {
			t.Errorf("%s: a record gets %v, a file accepts it", name, err)
		}
	}
	const year, second = job.Duration(365 * 24 * time.Hour), job.Duration(time.Second)
	for field, say := range map[string]struct {
		put       func(s *job.Spec, v int)
		low, high int
	}{
		"every":                 {func(s *job.Spec, v int) { s.Every = job.Duration(v) }, int(second), int(10 * year)},
		"jitter":                {func(s *job.Spec, v int) { s.Jitter = job.Duration(v) * 1_000_000 }, 1, 24*60*60*1000 - 1},
		"missed_window":         {func(s *job.Spec, v int) { s.MissedWindow = job.Duration(v) }, 1, int(10 * year)},
		"missed_limit":          {func(s *job.Spec, v int) { s.MissedLimit = v }, 1, 10_000},
		"timeout":               {func(s *job.Spec, v int) { s.Timeout = job.Duration(v) }, 1, int(10 * year)},
		"kill_grace":            {func(s *job.Spec, v int) { s.KillGrace = job.Duration(v) }, 1, int(3600 * second)},
		"heartbeat":             {func(s *job.Spec, v int) { s.Heartbeat = job.Duration(v) }, int(second), int(10 * year)},
		"priority":              {func(s *job.Spec, v int) { s.Priority = v }, -1000, 1000},
		"retry.max":             {func(s *job.Spec, v int) { s.Retry = &job.Retry{Max: v} }, 0, 1000},
		"retry.min":             {func(s *job.Spec, v int) { s.Retry = &job.Retry{Max: 1, Min: job.Duration(v)} }, 1, int(10 * year)},
		"retry.max_delay":       {func(s *job.Spec, v int) { s.Retry = &job.Retry{Max: 1, Min: 1, MaxDelay: job.Duration(v)} }, 1, int(10 * year)},
		"breaker.window":        {func(s *job.Spec, v int) { s.Breaker = &job.Breaker{Window: v} }, 1, 1000},
		"breaker.open_for":      {func(s *job.Spec, v int) { s.Breaker = &job.Breaker{OpenFor: job.Duration(v)} }, 1, int(10 * year)},
		"breaker.failure_ratio": {func(s *job.Spec, v int) { s.Breaker = &job.Breaker{FailureRatio: float64(v) / 100} }, 1, 100},
		"resources.memory":      {func(s *job.Spec, v int) { s.Resources = &job.Resources{Memory: job.Size(v) << 20} }, 1, 1 << 30},
		"resources.cpu":         {func(s *job.Spec, v int) { s.Resources = &job.Resources{CPU: job.CPUs(v)} }, 10, 10_000_000},
		"resources.pids":        {func(s *job.Spec, v int) { s.Resources = &job.Resources{PIDs: v} }, 1, 1 << 22},
	} {
		try := func(v int) (file, record error) {
			spec := job.Spec{Shell: "true"}
			say.put(&spec, v)
			_, file = ParseJob("x", asJSON(t, spec), nothing)
			return file, new(spec.WithDefaults()).Check()
		}
		for _, v := range []int{say.low, say.high} {
			if file, record := try(v); file != nil || record != nil {
				t.Errorf("%s %d: a file gets %v, a record %v, want neither refused", field, v, file, record)
			}
		}
		for _, v := range []int{say.high + 1, -1 - 1000*1000} {
			if file, record := try(v); file == nil || record == nil {
				t.Errorf("%s %d: a file gets %v, a record %v, want both refused", field, v, file, record)
			}
		}
	}
}
