package command_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
)

// TestOutputNamesTheProcessesLeftBehind starts programs that leave processes behind, and one that leaves none.
func TestOutputNamesTheProcessesLeftBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("marks are found on Linux only")
	}
	const named = "done\n\n[rota: killed processes that the program left behind: s"
	for name, c := range map[string]struct {
		shell, want string
		none        bool
	}{
		"none":               {"echo done", "done\n", true},
		"one":                {"mkfifo p; : < p & echo done", named, false},
		"one that had ended": {"sleep 0 & wait; echo done", "done\n", true},
		"outside the group":  {"setsid sleep 1000 & echo done", named, false},
		"a filter":           {"mkfifo p; { read -r l; echo $l; } < p & exec > p; echo done", "done\n", true},
		"many":               {"mkfifo p; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do : < p & done", " and 2 more]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			var out buffer.Buffer
			o := newExecutor().Execute(t.Context(), request(t, job.Spec{Shell: c.shell, Dir: t.TempDir()}, &out))
			if o.State != job.Succeeded {
				t.Errorf("got %+v", o)
			}
			got := out.String()
			if !strings.Contains(got, c.want) || c.none && strings.Contains(got, "rota") {
				t.Errorf("output %q, want %q", got, c.want)
			}
		})
	}
}
