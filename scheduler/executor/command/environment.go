package command

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Inherited lists the variables that a program gets from its worker. A name that ends in * stands for all that begin so.
func Inherited() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_*", "SSL_CERT_FILE", "SSL_CERT_DIR",
	}
}

// defaultPath is the PATH of programs whose worker has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// The variables that tell a program about its attempt. A job cannot set them itself.
const (
	envJob         = "ROTA_JOB"
	envRun         = "ROTA_RUN"
	envSlot        = "ROTA_SLOT"
	envAttempt     = "ROTA_ATTEMPT"
	envToken       = "ROTA_FENCING_TOKEN"
	envKey         = "ROTA_IDEMPOTENCY_KEY"
	envDeadline    = "ROTA_DEADLINE"
	envPayload     = "ROTA_PAYLOAD"
	envTraceParent = "TRACEPARENT"
	envNotify      = "NOTIFY_SOCKET" // this and the next as systemd has them; with a heartbeat only
	envWatchdog    = "WATCHDOG_USEC"
)

// environment returns what the program sees: the inherited variables, over them the job's, over them ours. notify is where
// the program may report progress, if it has to.
func environment(worker []string, req *executor.Request, notify string, resolver *refs.Resolver) ([]string, error) {
	env := map[string]string{"PATH": defaultPath}
	for _, kv := range worker {
		if name, v, ok := strings.Cut(kv, "="); ok && inherited(name) {
			env[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Spec.Env)) {
		v, err := resolver.Expand(req.Spec.Env[name])
		if err != nil {
			return nil, err
		}
		env[name] = v
	}
	for name, v := range told(req) {
		if delete(env, name); v != "" {
			env[name] = v
		}
	}
	if notify != "" {
		env[envNotify], env[envWatchdog] = notify, strconv.FormatInt(req.Spec.Heartbeat.Std().Microseconds(), 10)
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

func inherited(name string) bool {
	for _, allowed := range Inherited() {
		if stem, ok := strings.CutSuffix(allowed, "*"); name == allowed || ok && strings.HasPrefix(name, stem) {
			return true
		}
	}
	return false
}

// told is what a program is told about its attempt. An empty value means that the variable is not set.
func told(req *executor.Request) map[string]string {
	run := &req.Run
	env := map[string]string{
		envJob:         run.Job,
		envRun:         run.Name(),
		envSlot:        job.SlotID(run.Slot),
		envAttempt:     strconv.Itoa(run.Attempt),
		envToken:       strconv.FormatInt(run.Token, 10),
		envKey:         run.IdempotencyKey(),
		envDeadline:    "",
		envPayload:     string(req.Payload()),
		envTraceParent: req.TraceParent,
		procs.Env:      req.Marker,
	}
	if !req.Deadline.IsZero() {
		env[envDeadline] = req.Deadline.UTC().Format(time.RFC3339Nano)
	}
	return env
}

// value returns a variable of an environment, "" if it is not set.
func value(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
