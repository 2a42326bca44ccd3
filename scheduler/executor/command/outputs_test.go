package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
)

// TestOutputs runs programs that write outputs.
func TestOutputs(t *testing.T) {
	t.Setenv("ROTA_SECRET_TOKEN", "s3cret")
	e := command.New(command.Config{Refs: &refs.Policy{Setting: "worker.refs", Env: []string{"ROTA_SECRET_*"}}}, func() time.Time { return at })
	for _, c := range []struct {
		name, script string
		state        job.State
		reason       string // part of it
		want         map[string]string
	}{
		{"none", "true", job.Succeeded, "", nil},
		{"two", `echo rows=12 >> "$ROTA_OUTPUT"; printf 'path=/srv/a=b\n\nrows=13' >> "$ROTA_OUTPUT"`, job.Succeeded, "",
			map[string]string{"rows": "13", "path": "/srv/a=b"}},
		{"no name", `echo rows=1 > "$ROTA_OUTPUT"; echo nonsense >> "$ROTA_OUTPUT"`, job.Failed, "line 2 is not name=value", nil},
		{"bad name", `echo 1a=b > "$ROTA_OUTPUT"`, job.Failed, "line 1 is not name=value", nil},
		{"zero byte", `printf 'rows=1\0002' > "$ROTA_OUTPUT"`, job.Failed, "output rows must be a text in UTF-8 without zero bytes", nil},
		{"too large", `head -c 40000 /dev/zero | tr '\0' x > "$ROTA_OUTPUT"`, job.Failed, "$ROTA_OUTPUT is larger than 32 KiB", nil},
		{"endless", `ln -s /dev/zero "$ROTA_OUTPUT"`, job.Failed, "$ROTA_OUTPUT cannot be read", nil},
		{"a pipe", `mkfifo "$ROTA_OUTPUT"`, job.Failed, "not a regular file", nil},
		{"a directory", `mkdir "$ROTA_OUTPUT"`, job.Failed, "not a regular file", nil},
		{"failed anyway", `echo rows=1 > "$ROTA_OUTPUT"; exit 3`, job.Failed, "exit code 3", map[string]string{"rows": "1"}},
		{"failed with nonsense", `echo x > "$ROTA_OUTPUT"; exit 3`, job.Failed, "exit code 3", nil},
		{"a secret", `printf "url=db://$TOKEN@x\nrows=7\n" > "$ROTA_OUTPUT"`, job.Succeeded, "", map[string]string{"rows": "7"}},
		{"inputs", `test "$ROTA_INPUT_NIGHTLY_BACKUP_ROWS" = 12 && echo ok`, job.Succeeded, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(t, shell(c.script), new(buffer.Buffer))
			req.Spec.Env = map[string]string{"TOKEN": "${env:ROTA_SECRET_TOKEN}"}
			req.Inputs = map[string]map[string]string{"nightly-backup": {"rows": "12"}}
			o := e.Execute(t.Context(), req)
			if o.State != c.state || !strings.Contains(o.Reason, c.reason) || !cmp.Equal(o.Outputs, c.want) {
				t.Errorf("got %s %q with %v, want %s %q with %v", o.State, o.Reason, o.Outputs, c.state, c.reason, c.want)
			}
			if strings.Contains(o.Reason, "ROTA_OUTPUT") && o.Retry {
				t.Error("the attempt asks for a retry, although its work is done")
			}
		})
	}
}
