package command_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/lacking"
)

// as returns an executor whose programs run as a user, and the directory of its outputs. Without root it skips the test.
func as(t *testing.T, user string) (e *command.Executor, outputs string) {
	t.Helper()
	u, err := command.LookupUser(user)
	if err == nil {
		err = u.Check()
	}
	if err != nil {
		lacking.ReportForRoot(t, "%v", err)
	}
	tree, err := cgroups.Open()
	if err != nil {
		t.Logf("resources are not limited: %v", err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	outputs = filepath.Join(t.TempDir(), "outputs")
	t.Setenv("TMPDIR", "/tmp")
	return command.New(command.Config{
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "USER=root"}, User: u, Outputs: outputs, Groups: tree,
		Refs: &refs.Policy{Files: []string{"/**"}},
	}, func() time.Time { return at }), outputs
}

func TestProgramsOfAnotherUser(t *testing.T) {
	e, outputs := as(t, "nobody")
	secret := files.Write(t, filepath.Join(t.TempDir(), "secret"), "hunter2-of-root")
	locked := t.TempDir()
	if err := os.Chmod(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		spec   job.Spec
		state  job.State
		reason string // part of it
		out    string // part of it
	}{
		{"user and groups", shell("id -un; id -Gn"), job.Succeeded, "", "nobody\nnogroup\n"},
		{"variables of cron", shell(`echo "$HOME $USER $LOGNAME $SHELL"`), job.Succeeded, "", "/nonexistent nobody nobody /bin/sh\n"},
		{"its own variables", job.Spec{Shell: `echo "$HOME"`, Env: map[string]string{"HOME": "/srv"}}, job.Succeeded, "", "/srv\n"},
		{"no capability", shell("grep CapEff /proc/self/status"), job.Succeeded, "", "0000000000000000"},
		{"stdout by its name", shell("echo here >/dev/stdout; echo there >/dev/stderr"), job.Succeeded, "", "here\nthere\n"},
		{"a file of root", shell("cat " + secret), job.Failed, "exit code 1", "Permission denied"},
		{"a secret of the worker", job.Spec{Shell: `test "$S" = hunter2-of-root && echo ok`, Env: map[string]string{"S": "${file:" + secret + "}"}}, job.Succeeded, "", "ok\n"},
		{"a directory of root", job.Spec{Shell: "true", Dir: locked}, job.Failed, "user nobody must be able to read and execute it", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out buffer.Buffer
			o := e.Execute(t.Context(), request(t, tt.spec, &out))
			if o.State != tt.state || !strings.Contains(o.Reason, tt.reason) || !strings.Contains(out.String(), tt.out) {
				t.Errorf("got %s %q and %q, want %s %q and %q", o.State, o.Reason, out.String(), tt.state, tt.reason, tt.out)
			}
		})
	}
	leftOutputs(t, outputs)
}

// leftOutputs checks that no directory of an attempt is left. outputs is the directory of the executor.
func leftOutputs(t *testing.T, outputs string) (common string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(outputs, "common"))
	if err != nil {
		t.Fatal(err)
	}
	common = string(text)
	t.Cleanup(func() { _ = os.RemoveAll(common) })
	if left, err := os.ReadDir(common); err != nil || len(left) > 0 {
		t.Errorf("%s has %v, %v; want nothing", common, left, err)
	}
	return common
}

func TestOutputsOfAnotherUser(t *testing.T) {
	e, outputs := as(t, "nobody")
	foreign := filepath.Join("/tmp", "rota-foreign-"+strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(foreign, []byte("secret=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(foreign)
	run := func(script string) job.Outcome { return e.Execute(t.Context(), request(t, shell(script), io.Discard)) }

	if o := run(`echo rows=1 >"$ROTA_OUTPUT.new"; mv "$ROTA_OUTPUT.new" "$ROTA_OUTPUT"`); o.State != job.Succeeded || o.Outputs["rows"] != "1" {
		t.Errorf("got %+v, want one output", o)
	}
	if o := run("ln -s " + foreign + ` "$ROTA_OUTPUT"`); o.State != job.Failed || len(o.Outputs) > 0 {
		t.Errorf("got %+v through a symbolic link", o)
	}
	// A kernel with protected_hardlinks refuses the link.
	if o := run("ln " + foreign + ` "$ROTA_OUTPUT" || exit 9`); o.State != job.Failed || len(o.Outputs) > 0 {
		t.Errorf("got %+v through a hard link", o)
	}
	common := leftOutputs(t, outputs)
	if err := os.RemoveAll(common); err != nil { // as a cleaner of temporary files does
		t.Fatal(err)
	}
	if o := run(`echo rows=2 >"$ROTA_OUTPUT"`); o.Outputs["rows"] != "2" {
		t.Errorf("got %+v after the directory was removed, want one output", o)
	}
	leftOutputs(t, outputs)
}

func TestAllProcessesOfAnotherUserAreKilled(t *testing.T) {
	e, outputs := as(t, "nobody")
	for name, res := range map[string]*job.Resources{"without cgroup": nil, "in a cgroup": {PIDs: 50}} {
		t.Run(name, func(t *testing.T) {
			var out buffer.Buffer
			spec := job.Spec{
				Shell:     "trap '' TERM; sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &); echo began; wait; sleep 1000",
				KillGrace: job.Duration(100 * time.Millisecond), Resources: res,
			}
			req := request(t, spec, &out)
			o := endWith(t, e, req, &out, 6, executor.ErrTimeout)
			if o.Reason == "limit pids: there is no cgroup for it on this worker" {
				t.Skip("NOT TESTED: there are no cgroups")
			}
			if o.State != job.TimedOut || len(marked(t, req.Mark)) > 0 {
				t.Errorf("got %+v with processes %v left", o, marked(t, req.Mark))
			}
		})
	}
	leftOutputs(t, outputs)
}

func TestLookupUser(t *testing.T) {
	for text, want := range map[string]string{
		"nobody": "65534:65534", "65534": "65534:65534", "nobody:0": "65534:0", "nobody:root": "65534:0", "54321:77": "54321:77",
		"54321": "this machine has no user 54321, so its group is unknown", "no-such-user": "this machine has no user no-such-user",
		"nobody:no-such-group": "this machine has no group no-such-group", "": "this machine has no user", "-1:5": "this machine has no user -1",
	} {
		u, err := command.LookupUser(text)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = strconv.Itoa(u.UID) + ":" + strconv.Itoa(u.GID)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestAGroupReplacesThatOfTheUser proves that programs lose the group that is replaced, with the files that it may read.
func TestAGroupReplacesThatOfTheUser(t *testing.T) {
	e, outputs := as(t, "nobody:1")
	var out buffer.Buffer
	if e.Execute(t.Context(), request(t, shell("id -G"), &out)); out.String() != "1\n" {
		t.Errorf("got the groups %q, want 1 alone", out.String())
	}
	leftOutputs(t, outputs)
}

// TestTheUserOfTheWorkerNeedsNoRight names the user that the worker has anyway.
func TestTheUserOfTheWorkerNeedsNoRight(t *testing.T) {
	u, err := command.LookupUser(strconv.Itoa(syscall.Geteuid()) + ":" + strconv.Itoa(syscall.Getegid()))
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Check(); err != nil {
		t.Errorf("got %v", err)
	}
}
