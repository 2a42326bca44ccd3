package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// traceParent is the W3C trace context of an attempt. The attempts of a run are spans of one trace, so that a target's
// traces show them side by side.
func traceParent(run *job.Run) string {
	trace := sha256.Sum256([]byte(run.Name()))
	span := sha256.Sum256([]byte(run.Name() + "@" + strconv.FormatInt(run.Token, 10)))
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, trace[:16]), '-')
	return string(append(hex.AppendEncode(b, span[:8]), "-01"...))
}
