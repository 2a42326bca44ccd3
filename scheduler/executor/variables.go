package executor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// inputPrefix begins the names of variables with the outputs of parents. A parent and the name of its output follow.
const inputPrefix = "ROTA_INPUT_"

// Variables returns the environment variables that describe the attempt to a program: the attempt itself, its parameters and the
// outputs of its parents. Job files cannot set them. A variable without a value, such as ROTA_PAYLOAD without a payload, is
// missing.
func (r *Request) Variables() map[string]string {
	env := make(map[string]string)
	for _, parent := range slices.Sorted(maps.Keys(r.Inputs)) {
		for _, name := range slices.Sorted(maps.Keys(r.Inputs[parent])) {
			variable := inputPrefix + strings.ToUpper(strings.ReplaceAll(parent, "-", "_")+"_"+name)
			if _, taken := env[variable]; !taken { // "x" and "X" have one variable; the first in the order of bytes is in it
				env[variable] = r.Inputs[parent][name]
			}
		}
	}
	for name, value := range r.Params() {
		env[job.ParamVariable(name)] = value
	}
	deadline := ""
	if !r.Deadline.IsZero() {
		deadline = r.Deadline.UTC().Format(time.RFC3339Nano)
	}
	own := map[string]string{
		"ROTA_JOB":             r.Run.Job,
		"ROTA_RUN":             r.Run.Name(),
		"ROTA_SLOT":            job.SlotID(r.Run.Slot),
		"ROTA_ATTEMPT":         strconv.Itoa(r.Run.Attempt),
		"ROTA_FENCING_TOKEN":   strconv.FormatInt(r.Run.Token, 10),
		"ROTA_IDEMPOTENCY_KEY": r.Run.IdempotencyKey(),
		"ROTA_DEADLINE":        deadline,
		"ROTA_PAYLOAD":         string(r.Payload()),
		"TRACEPARENT":          r.TraceParent,
	}
	maps.DeleteFunc(own, func(_, value string) bool { return value == "" })
	maps.Copy(env, own)
	return env
}
