package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
)

var at = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

func newExecutor() *command.Executor {
	return command.New(command.Config{Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/rota", "LC_ALL=C", "SECRET_OF_THE_WORKER=x"}},
		func() time.Time { return at })
}

func request(t testing.TB, spec job.Spec, out io.Writer) executor.Request {
	return executor.Request{
		Run:  job.Run{Job: "backup", ID: "2026-11-21T02:30:00Z", Slot: at, Attempt: 2, Token: 77},
		Spec: spec, Deadline: at.Add(time.Minute), Output: out, Mark: newMark(t), TraceParent: "00-1-2-01",
	}
}

func shell(text string) job.Spec   { return job.Spec{Shell: text} }
func argv(args ...string) job.Spec { return job.Spec{Command: args} }

func failed(code int, reason string, retry bool) job.Outcome {
	return job.Outcome{State: job.Failed, Exit: new(code), Reason: reason, Retry: retry}
}

func TestOutcomes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	headless := file("headless", "echo hello\n", 0o755)
	orphan := file("orphan", "#!/no/such/interpreter\n", 0o755)
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	file("good", "#!/bin/sh\necho \"$0 in $PWD\"\n", 0o755)

	for _, tt := range []struct {
		name string
		spec job.Spec
		out  string
		want job.Outcome
	}{
		{"success", argv("true"), "", job.Outcome{State: job.Succeeded, Exit: new(0)}},
		{"stdout and stderr in their order", shell("echo a; echo b >&2; echo c"), "a\nb\nc\n", job.Outcome{State: job.Succeeded, Exit: new(0)}},
		{"arguments are not expanded", argv("echo", "$HOME", "*", "a  b"), "$HOME * a  b\n", job.Outcome{State: job.Succeeded, Exit: new(0)}},
		{"stdin is empty", argv("cat"), "", job.Outcome{State: job.Succeeded, Exit: new(0)}},
		{"exit code", shell("exit 3"), "", failed(3, "exit code 3", true)},
		{"exit code 75", shell("exit 75"), "", failed(75, "exit code 75: asks for a retry", true)},
		{"not found", argv("no-such-command"), "", failed(127, "command no-such-command not found in PATH", false)},
		{"not found by path", argv("/no/such/command"), "", failed(127, "command /no/such/command not found", false)},
		{"not found by the shell", shell("no-such-command 2>/dev/null"), "", failed(127, "exit code 127: command not found", false)},
		{"not executable", argv(plain), "", failed(126, "command "+plain+" is not executable", false)},
		{"cannot be checked", argv(loop), "", job.Outcome{State: job.Failed, Reason: "look for command " + loop + ": stat " + loop + ": too many levels of symbolic links", Retry: true}},
		{"cannot be checked in all of PATH", job.Spec{Command: []string{"plain"}, Env: map[string]string{"PATH": dir + ":" + loop}}, "", job.Outcome{State: job.Failed, Reason: "look for command plain: stat " + loop + "/plain: too many levels of symbolic links", Retry: true}},
		{"a directory", argv(dir), "", failed(126, "command "+dir+" is a directory", false)},
		{"not a program", argv(headless), "", failed(126, "start "+headless+": neither a program for this machine nor a script with #!", false)},
		{"no interpreter", argv(orphan), "", failed(127, "start "+orphan+": the interpreter that it names is not there", false)},
		{"not executable in PATH", job.Spec{Command: []string{"plain"}, Env: map[string]string{"PATH": "relative:/no/such:" + dir}}, "", failed(126, "command plain is not executable", false)},
		{"found in the job's own PATH", job.Spec{Command: []string{"good"}, Env: map[string]string{"PATH": dir}, Dir: "/"}, dir + "/good in /\n", job.Outcome{State: job.Succeeded, Exit: new(0)}},
		{"found in its directory", job.Spec{Command: []string{"./good"}, Dir: dir}, "./good in " + dir + "\n", job.Outcome{State: job.Succeeded, Exit: new(0)}},
		{"no directory", job.Spec{Shell: "true", Dir: "/no/such/dir"}, "", job.Outcome{State: job.Failed, Reason: "working directory /no/such/dir does not exist on this worker"}},
		{"a file in place of a directory", job.Spec{Shell: "true", Dir: plain}, "", job.Outcome{State: job.Failed, Reason: "working directory " + plain + " is not a directory"}},
		{"killed", shell("kill -KILL $$"), "", failed(137, "killed by SIGKILL (out of memory?)", true)},
		{"crashed", shell("kill -SEGV $$"), "", failed(139, "killed by SIGSEGV", true)},
		{"the longest payload", job.Spec{Shell: "echo ${#ROTA_PAYLOAD}", Payload: json.RawMessage(`"` + strings.Repeat("x", job.MaxToldPayload-2) + `"`)},
			fmt.Sprintln(job.MaxToldPayload), job.Outcome{State: job.Succeeded, Exit: new(0)}},
		{"one byte more", job.Spec{Shell: "true", Payload: json.RawMessage(`"` + strings.Repeat("x", job.MaxToldPayload-1) + `"`)}, "",
			failed(126, "start /bin/sh: arguments and environment, which include the payload, are too large", false)},
		{"too large a payload", job.Spec{Shell: "true", Payload: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, "", failed(126, "start /bin/sh: arguments and environment, which include the payload, are too large", false)},
		{"missing reference", job.Spec{Shell: "true", Env: map[string]string{"A": "${env:ROTA_TEST_MISSING}"}}, "", job.Outcome{State: job.Failed, Reason: "reference ${env:ROTA_TEST_MISSING}: variable is not set here", Retry: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out buffer.Buffer
			got := newExecutor().Execute(t.Context(), request(t, tt.spec, &out))
			tt.want.At = at
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if out.String() != tt.out {
				t.Errorf("output %q, want %q", out.String(), tt.out)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ROTA_TEST_SHORT", "ab")
	var out buffer.Buffer
	req := request(t, argv("env"), &out)
	req.Spec.Env = map[string]string{
		"HOME": "/job", "COLOUR": "green", "ROTA_FENCING_TOKEN": "1", "ROTA_MARK": "x", "ROTA_SERVER": "http://q1",
		"RESOLVED": "${env:ROTA_TEST_SHORT}",
	}
	req.Run.Payload = json.RawMessage(`{"a": "b"}`)
	if o := newExecutor().Execute(t.Context(), req); o.State != job.Succeeded {
		t.Fatalf("outcome %+v", o)
	}
	output := regexp.MustCompile(`ROTA_OUTPUT=/.+`).FindString(out.String()) // its name is random
	want := strings.Join([]string{
		"COLOUR=green", "HOME=/job", "LC_ALL=C", "PATH=" + os.Getenv("PATH"), "RESOLVED=***",
		"ROTA_ATTEMPT=2", "ROTA_DEADLINE=2026-11-21T02:31:00Z", "ROTA_FENCING_TOKEN=77",
		"ROTA_IDEMPOTENCY_KEY=backup/2026-11-21T02:30:00Z", "ROTA_JOB=backup", "ROTA_MARK=" + req.Mark, output,
		`ROTA_PAYLOAD={"a": "b"}`, "ROTA_RUN=backup/2026-11-21T02:30:00Z", "ROTA_SERVER=http://q1",
		"ROTA_SLOT=2026-11-21T02:30:00Z", "TRACEPARENT=00-1-2-01", "",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Setenv("ROTA_TEST_TOKEN", "s3cret/value")
	var out buffer.Buffer
	req := request(t, shell(`printf '%s' s3cret/; sleep 0.05; printf '%s' value; echo " $TOKEN \${env:HOME}"; echo "${#TOKEN}"`), &out)
	req.Spec.Env = map[string]string{"TOKEN": "${env:ROTA_TEST_TOKEN}"}
	newExecutor().Execute(t.Context(), req)
	if want := "*** *** ${env:HOME}\n12\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	o := newExecutor().Execute(t.Context(), request(t, argv("/nowhere/${env:ROTA_TEST_TOKEN}"), &out))
	if o.Reason != "command /nowhere/*** not found" {
		t.Errorf("reason %q", o.Reason)
	}
}

func TestShellTextIsNotResolved(t *testing.T) {
	t.Setenv("ROTA_TEST_TOKEN", "s3cret; touch /tmp/x")
	var out buffer.Buffer
	newExecutor().Execute(t.Context(), request(t, shell(`echo '${env:ROTA_TEST_TOKEN}'`), &out))
	if want := "${env:ROTA_TEST_TOKEN}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestFloodIsBounded(t *testing.T) {
	w := output.New(t.TempDir(), "backup/x", 1, job.OutputTail, 1<<20)
	before := memory()
	var most uint64
	sample := writerFunc(func(p []byte) (int, error) {
		most = max(most, memory())
		return w.Write(p)
	})
	o := newExecutor().Execute(t.Context(), request(t, shell("yes | head -c 200000000; echo; echo the end"), every(sample, w, 200)))
	w.Close()
	if o.State != job.Succeeded {
		t.Fatalf("outcome %+v", o)
	}
	if tail := w.Tail(); !strings.HasSuffix(tail, "y\n\nthe end\n") || len(tail) > job.OutputTail {
		t.Errorf("tail of %d bytes does not end in the last line", len(tail))
	}
	if most > before+16<<20 {
		t.Errorf("200 MB of output took %d MiB of memory", (most-before)>>20)
	}
}

func TestContextThatHasEndedStartsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "started")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(executor.ErrFenced)
	o := newExecutor().Execute(ctx, request(t, argv("touch", file), io.Discard))
	if o.State != job.Lost || o.Reason != "worker lost its lease" {
		t.Errorf("got %+v, want lost", o)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("command was started")
	}
}

func TestThousandCommandsLeaveNothing(t *testing.T) {
	e := newExecutor()
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			var out buffer.Buffer
			if o := e.Execute(t.Context(), request(t, argv("echo", fmt.Sprint(i)), &out)); o.State != job.Succeeded {
				t.Errorf("outcome %+v", o)
			}
			if got, want := out.String(), fmt.Sprintln(i); got != want {
				t.Errorf("output %q, want %q", got, want)
			}
		})
	}
	wg.Wait()
	if kids := children(t); len(kids) > 0 {
		t.Errorf("children are left: %v", kids)
	}
}

func TestAReferenceThatIsNotAllowedFailsForGood(t *testing.T) {
	t.Setenv("DB_PASSWORD", "hunter2")
	t.Setenv("ROTA_SECRET_TOKEN", "s3cret")
	e := command.New(command.Config{Refs: &refs.Policy{Setting: "worker.refs", Env: []string{"ROTA_SECRET_*"}}}, func() time.Time { return at })
	spec := shell(`echo "$VALUE"`)
	spec.Env = map[string]string{"VALUE": "${env:DB_PASSWORD}"}
	var out buffer.Buffer
	o := e.Execute(t.Context(), request(t, spec, &out))
	if o.State != job.Failed || o.Retry || !strings.Contains(o.Reason, "not in worker.refs.env") || strings.Contains(out.String(), "hunter2") {
		t.Errorf("got %+v with the output %q", o, out.String())
	}
	spec.Env["VALUE"] = "${env:ROTA_SECRET_TOKEN}"
	if o := e.Execute(t.Context(), request(t, spec, &out)); o.State != job.Succeeded {
		t.Errorf("a reference that is allowed: got %+v", o)
	}
}
