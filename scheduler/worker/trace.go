package worker

import (
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// traceParent is the W3C trace context of an attempt. The attempts of a run are spans of one trace, so that a target's
// traces show them side by side.
func traceParent(run *job.Run) string {
	trace := sha256.Sum256([]byte(run.Name()))
	span := sha256.Sum256([]byte(run.Name() + "@" + strconv.FormatInt(run.Token, 10)))
	return fmt.Sprintf("00-%x-%x-01", trace[:16], span[:8])
}
