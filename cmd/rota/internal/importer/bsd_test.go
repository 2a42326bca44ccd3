package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestFlagsOfBSD reads flags before a command, which are not a part of it.
func TestFlagsOfBSD(t *testing.T) {
	for line, want := range map[string]job.Overlap{
		"0 1 * * * -n -q /bin/a -n": job.OverlapAllow, "@daily -ns /bin/a -n": job.OverlapSkip, "@daily /bin/a -n": job.OverlapAllow,
	} {
		var got importer.Result
		importer.Crontab("f", line+"\n", importer.CrontabOptions{}, &got)
		if spec := got.Jobs["a"]; spec.Shell != "/bin/a -n" || spec.Overlap != want || !got.Complete() {
			t.Errorf("%s: got %+v; problems %v", line, spec, got.Problems)
		}
	}
}

// TestRelativePathsOfACommand reports directories and files that cron finds from the home of the user.
func TestRelativePathsOfACommand(t *testing.T) {
	for command, want := range map[string]string{
		"cd backup && ./run":               "backup",
		"test -d a || (cd a; x)":           "a",
		"/bin/x > out.log 2>&1":            "out.log",
		"/bin/x 2>>err":                    "err",
		"cd /srv && cd app && x > log":     "",
		`cd "$HOME/app" && x > log`:        "",
		"/bin/x > /dev/null 2>&1":          "",
		`/bin/mysql -e "select a > b"`:     "",
		"/bin/x --map a=>b --arrow ->c":    "",
		"/bin/echo a%cd b > c":             "",
		`/bin/date +\%F > today`:           "today",
		"~/bin/x >$HOME/log; cd - ; cd ..": "..",
	} {
		var got importer.Result
		importer.Crontab("f", "@daily "+command+"\n", importer.CrontabOptions{}, &got)
		text := fmt.Sprint(got.Problems)
		if got.Complete() != (want == "") || !strings.HasPrefix(text, "[f:1: "+want+": cron starts") && want != "" {
			t.Errorf("%s: got %s", command, text)
		}
	}
}
