package executor_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestInputsOfOneVariable has outputs whose variables have one name. Each attempt gets the same one of them.
func TestInputsOfOneVariable(t *testing.T) {
	for range 50 {
		got := (&executor.Request{Run: job.Run{Job: "join"}, Inputs: map[string]map[string]string{
			"load": {"x": "lower", "X": "upper", "eu_rows": "of load"}, "load-eu": {"rows": "of load-eu"},
		}}).Variables()
		if got["ROTA_INPUT_LOAD_X"] != "upper" || got["ROTA_INPUT_LOAD_EU_ROWS"] != "of load" {
			t.Fatalf("got %q", got)
		}
	}
}
