package main

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// TestCommandsAtAFakeCluster gives commands whose output a script reads.
func TestCommandsAtAFakeCluster(t *testing.T) {
	fake := newFakeCluster()
	server := httptest.NewServer(api.New(api.DefaultConfig(), fake.backend(), hclog.NewNullLogger()).Handler())
	t.Cleanup(server.Close)
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct {
		command     string
		code        int
		out, stderr string // prefixes
	}{
		{"submit fails -o name --wait", 3, "fails/id-", ""},
		{"retry fails --since 1h --yes -o name", exitOK, "fails/again-", "fails/id-"}, // the new run
		{"cancel fails --state pending --since 1s --yes -o name", exitOK, "", ""},
		{"explain fails", exitOK, "Job:", ""}, // it has no run but those by hand
		{"explain nothing", exitNotFound, "", `rota: there is no job "nothing"`},
		{"explain fails 10:50", exitOK, "Job:", ""},
		{"pause ok --reason " + strings.Repeat("r", 501), exitUsage, "", "rota: --reason has more than 500 characters"},
		{"submit --in -5s fails", exitUsage, "", "rota: the time span -5s is negative"},
		{"submit --in -x fails", exitUsage, "", `rota: "-x" is not a time span`},
	} {
		var out, errs bytes.Buffer
		args := append(strings.Fields(c.command), "--server", server.URL)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		if code != c.code || !strings.HasPrefix(out.String(), c.out) || !strings.HasPrefix(errs.String(), c.stderr) {
			t.Errorf("rota %s: got exit code %d, %q and %q", c.command, code, out.String(), errs.String())
		}
	}
}

func TestTheHeaderOfWatchedColumnsIsPrintedOnce(t *testing.T) {
	out, stop := watching(t, newFakeCluster(), "jobs", "--watch", "-o", "custom-columns=NAME:.name")
	out.await(t, "web")
	stop()
	if n := strings.Count(out.String(), "NAME"); n != 1 {
		t.Errorf("the header is there %d times:\n%s", n, out.String())
	}
}

// Another client creates a job between the reading and the writing of apply.
func TestAConflictOfApplySaysWhatToDo(t *testing.T) {
	err := partialFailure("job a", nil, nil, &client.Error{Status: 412, Detail: "job a exists already"})
	var coded *codedError
	if !errors.As(err, &coded) || coded.code != exitConflict || !strings.Contains(coded.hint, "Run the command again.") {
		t.Errorf("got %v", err)
	}
}

// The name of a time of day that has not come today is of yesterday, where only the past is meant.
func TestSinceATimeOfDay(t *testing.T) {
	c := &cli{now: func() time.Time { return noon }}
	for _, text := range []string{"00:00", "12:00", "23:59:59"} {
		at, err := c.sinceInstant(text)
		if err != nil || at.After(noon) || noon.Sub(at) > 25*time.Hour {
			t.Errorf("%s: got %v, %v", text, at, err)
		}
	}
}
