package command_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOutputNamesTheProcessesLeftBehind starts programs that leave processes behind, and one that leaves none.
func TestOutputNamesTheProcessesLeftBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("marks are found on Linux only")
	}
	for name, c := range map[string]struct{ shell, want string }{
		"none":               {"echo done", "done\n"},
		"one":                {"sleep 1000 & echo done", "done\n\n[rota: killed processes that the program left behind: s"},
		"one that had ended": {"sleep 0 & wait; echo done", "done\n"},
		"outside the group":  {"setsid sleep 1000 & echo done", "done\n\n[rota: killed processes that the program left behind: s"},
		"many":               {"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done", " and 2 more]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out lockedBuffer
			o := newExecutor().Execute(t.Context(), request(t, job.Spec{Shell: c.shell}, &out))
			if o.State != job.Succeeded {
				t.Errorf("got %+v", o)
			}
			got := out.String()
			if ok := strings.Contains(got, c.want); !ok || strings.Contains(got, "rota") != strings.Contains(c.want, "rota") && name != "many" {
				t.Errorf("output %q, want %q", got, c.want)
			}
		})
	}
}
