package job_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestSpansMayHaveDaysAndWeeks(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "7d": 168 * time.Hour, "0.5d": 12 * time.Hour, "1w": 168 * time.Hour, "-1d": -24 * time.Hour,
		"36500d": 876000 * time.Hour,
	} {
		if got, err := job.ParseSpan(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1dw", "NaNd", "Infw", "36501d", "5215w", "-36501d", "1 d", "7"} {
		if got, err := job.ParseSpan(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
