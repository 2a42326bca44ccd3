package main

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// A repeated selector narrows the selection: the last one alone would select more jobs.
func TestARepeatedSelectorMustMatchToo(t *testing.T) {
	var selector string
	cmd := &cobra.Command{}
	addSelector(cmd, &selector)
	err := cmd.ParseFlags([]string{"-l", "team in (a,b)", "-l", "zone=x"})
	if want := "team in (a,b),zone=x"; err != nil || selector != want {
		t.Errorf("got %q (%v), want %q", selector, err, want)
	}
}

func TestAWorkerRefusesJobFiles(t *testing.T) {
	code, _, stderr := runHere(nil, "worker", "--jobs", "jobs.yaml", "--etcd-endpoints", "http://127.0.0.1:1")
	if want := "--jobs has no effect"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("got %d, %s, want %q", code, stderr, want)
	}
}

// Somebody who starts a run of a paused job learns that it waits.
func TestARunOfAPausedJobSaysThatItWaits(t *testing.T) {
	server := startCluster(t)
	for _, tc := range []struct{ pause, want string }{
		{"", ""}, {"ok", "note: job ok is paused, so the run waits until `rota resume ok`"},
		{"--all", "note: all jobs are paused, so the run waits until `rota resume --all`"},
	} {
		want := tc.want
		if tc.pause != "" {
			if code, _, stderr := runHere(nil, "pause", tc.pause, "--server", server); code != exitOK {
				t.Fatalf("got %d, %s", code, stderr)
			}
		}
		code, stdout, stderr := runHere(nil, "submit", "ok", "--in", "1h", "--server", server)
		if code != exitOK || !strings.HasPrefix(stdout, "ok/") || !strings.Contains(stderr, want) || want == "" && strings.Contains(stderr, "paused") {
			t.Errorf("got %d, %s%s, want %q", code, stdout, stderr, want)
		}
	}
}

// A person copies the name of a run into a command that takes a job.
func TestARunWhereAJobBelongs(t *testing.T) {
	server := startCluster(t)
	for args, want := range map[string]string{
		"runs ok/2026-01-31T01:30:00Z": "hint: `rota run-info ok/2026-01-31T01:30:00Z` shows one run", "job job/ok": "hint: give the name alone: ok",
		"logs nothing/2026": `rota: there is no job "nothing"`,
	} {
		code, _, stderr := runHere(nil, append(strings.Fields(args), "--server", server)...)
		if code != exitNotFound || !strings.HasSuffix(stderr, want+"\n") {
			t.Errorf("%s: got %d, %s, want %q", args, code, stderr, want)
		}
	}
}

func TestDeleteTakesNoFile(t *testing.T) {
	_, _, stderr := runHere(nil, "delete", "-f", "jobs.yaml")
	if want := "`rota apply FILE --prune`"; !strings.Contains(stderr, want) {
		t.Errorf("got %s, want %q", stderr, want)
	}
}

// A shell writes each completion to the terminal without a change.
func TestACompletionDoesNotDisturbTheTerminal(t *testing.T) {
	fake := newFakeCluster()
	v := fake.jobs["ok"]
	spec := *v.Spec
	spec.Description = "a\x1b[2Jb\u202ec"
	v.Spec = &spec
	fake.jobs["ok"] = v
	s := httptest.NewServer(api.New(api.DefaultConfig(), fake.backend(), hclog.NewNullLogger()).Handler())
	t.Cleanup(s.Close)
	_, stdout, _ := runHere(nil, "__complete", "job", "--server", s.URL, "o")
	if want := "ok\ta [2Jb c\n"; !strings.Contains(stdout, want) {
		t.Errorf("got %q, want %q", stdout, want)
	}
}

func TestAShellThatDoesNotWaitIsSuspect(t *testing.T) {
	if got := suspectShell(&job.Spec{Shell: "backup &"}); !strings.Contains(got, "ends with &") {
		t.Errorf("got %q", got)
	}
}

func TestAnImportOfNothingSaysSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.yaml")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"v1","kind":"List","items":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runHere(nil, "import", "cronjob", file)
	if code != exitOK || stdout != "" || !strings.Contains(stderr, "there is no schedule") {
		t.Errorf("got %d, %s%s", code, stdout, stderr)
	}
}

// endless is an input without an end, such as a pipe from yes.
type endless struct{ read int }

func (e *endless) Read(to []byte) (int, error) {
	e.read += len(to)
	return copy(to, bytes.Repeat([]byte("#"), len(to))), nil
}

func TestEndlessStdin(t *testing.T) {
	in, stderr := &endless{}, &bytes.Buffer{}
	c := &cli{in: in, out: io.Discard, err: stderr, now: time.Now}
	if code := c.run(t.Context(), []string{"check", "-"}); code != exitBadConfig || !strings.Contains(stderr.String(), "is larger than 4 MiB") {
		t.Errorf("got %d, %s", code, stderr)
	}
	if in.read > 2*config.MaxFile {
		t.Errorf("%d bytes were read", in.read)
	}
}
