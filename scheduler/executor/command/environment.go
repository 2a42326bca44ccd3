package command

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
)

// passedOn has the names of the variables that a program inherits from its worker. A name that ends in * matches every variable
// with that prefix.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_*", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// defaultPath is the PATH of programs if their worker has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Variables that only programs of this package get. A job cannot set them itself.
const (
	envOutput   = "ROTA_OUTPUT"   // a file for lines of name=value
	envNotify   = "NOTIFY_SOCKET" // this variable and the next one as systemd sets them; only with a heartbeat
	envWatchdog = "WATCHDOG_USEC"
)

// environment returns the variables of the program. The job's variables replace inherited ones, and rota's replace both.
// notify is the address of the socket for heartbeats; "" if there is none. output is the path of the file for outputs.
func environment(worker []string, req *executor.Request, notify, output string, resolver *refs.Resolver) ([]string, error) {
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
	maps.Copy(env, req.Variables())
	env[envOutput] = output
	if req.Mark != "" {
		env[procs.Env] = req.Mark
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
	for _, allowed := range passedOn {
		if stem, ok := strings.CutSuffix(allowed, "*"); name == allowed || ok && strings.HasPrefix(name, stem) {
			return true
		}
	}
	return false
}

// value returns the value of a variable in env; "" if it is not set.
func value(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
