package importer_test

import (
	"os/exec"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
)

// TestPercentSigns runs commands with percent signs, and compares what they print with what they print under cron.
func TestPercentSigns(t *testing.T) {
	for command, want := range map[string]string{
		`echo a\%b`:              "a%b\n",
		`cat%one%two`:            "one\ntwo\n",
		`cat%one%`:               "one\n",
		`cat%one\%`:              "one%\n",
		`cat%`:                   "",
		`cat%%`:                  "\n",
		`echo a\\%this is input`: "a\\\n", // the first backslash escapes the second one, so the percent sign ends the command
		`cat%a\\b`:               "a\\\\b\n",
	} {
		var got importer.Result
		importer.Crontab("f", "0 1 * * * "+command+"\n", importer.CrontabOptions{}, &got)
		for _, spec := range got.Jobs {
			out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", spec.Shell).Output()
			if err != nil || string(out) != want {
				t.Errorf("%s prints %q (%v), want %q", command, out, err, want)
			}
		}
		if len(got.Jobs) != 1 {
			t.Errorf("%s: got %d jobs", command, len(got.Jobs))
		}
	}
}
