package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/lacking"
)

// bashCompletion has the functions that cobra's script for bash calls.
const bashCompletion = "/usr/share/bash-completion/bash_completion"

// TestCompletion presses Tab in bash, zsh and fish: after the names of jobs, runs, workers, limits and parameters, and after flags
// with a list of values.
func TestCompletion(t *testing.T) {
	shells := map[string][]string{
		"bash": {"bash", "--norc", "--noprofile", "-i"},
		"zsh":  {"zsh", "-f", "-i"},
		"fish": {"fish", "--no-config", "--private", "-i"},
	}
	load := map[string]string{
		"bash": "PS1='% '; source " + bashCompletion + "; source <(rota completion bash)",
		"zsh":  "PS1='% '; autoload -Uz compinit; compinit -u -d $HOME/dump; source <(rota completion zsh)",
		"fish": "function fish_prompt; echo -n '% '; end; rota completion fish | source",
	}
	for shell := range shells {
		lacking.Program(t, shell, shell)
	}
	if _, err := os.Stat(bashCompletion); err != nil {
		lacking.Report(t, "bash-completion is missing: apt-get install bash-completion")
	}
	specs := jobs()
	soon := time.Now().Add(10 * time.Second).Truncate(time.Second)
	specs["once"] = job.Spec{At: []time.Time{soon}, Shell: "true"} // the name of its run has colons, at which bash breaks words
	c := startWith(t, specs)
	cluster.Await(t, 30*time.Second, "a run of once", func() bool { return len(runsOf(t, c, "once")) == 1 })
	v, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "ROTA_SERVER=" + c.Replicas()[0].URL,
	}
	for shell, argv := range shells {
		t.Run(shell, func(t *testing.T) {
			s := newScreen(t, 160, 40, env, argv...)
			s.keys(load[shell]+"; clear; echo rea''dy", "Enter")
			s.await("the shell", "ready")
			for typed, want := range map[string]string{
				"rota run lo":             "rota run long",
				"rota run-info long/":     "rota run-info " + v.Ref,
				"rota run-info once/":     "rota run-info once/" + job.SlotID(soon),
				"rota workers q2":         "rota workers q2",
				"rota limits da":          "rota limits database",
				"rota runs --state=succ":  "rota runs --state=succeeded",
				"rota job --output custo": "rota job --output custom-columns",
				"rota paus":               "rota pause",
			} {
				s.keys("C-u")
				s.keys("-l", "clear")
				s.keys("Enter")
				s.await("an empty screen", "!rota", "!clear")
				s.keys("-l", typed)
				s.await("the typed text", typed)
				s.keys("Tab")
				s.await(typed+" and Tab", want)
				if last := strings.TrimSpace(s.text()); strings.Count(last, "\n") > 8 {
					t.Errorf("%s and Tab print:\n%s", typed, last)
				}
			}
		})
	}
}
