package executor

import (
	"maps"
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
	for parent, outputs := range r.Inputs {
		for name, value := range outputs {
			env[inputPrefix+strings.ToUpper(strings.ReplaceAll(parent, "-", "_")+"_"+name)] = value
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
