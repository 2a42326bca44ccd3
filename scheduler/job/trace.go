package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// TraceIDs are the ids of a run in the W3C trace context. They follow from the record alone, so every process knows them, and a
// process can record the span of an attempt whose worker has died.
type TraceIDs struct {
	Trace [16]byte // of all spans of the run
	Run   [8]byte  // the span of the whole run
}

// TraceIDs returns the ids of the run.
func (r *Run) TraceIDs() TraceIDs {
	sum := sha256.Sum256(r.traceName())
	return TraceIDs{Trace: [16]byte(sum[:16]), Run: [8]byte(sum[16:24])}
}

// AttemptSpans returns the span ids of the run's attempt with a token: that of the execution, and below it that of the call of the
// target. The latter is the parent of the target's own spans.
func (r *Run) AttemptSpans(token int64) (execute, call [8]byte) {
	sum := sha256.Sum256(strconv.AppendInt(append(r.traceName(), '@'), token, 10))
	return [8]byte(sum[8:16]), [8]byte(sum[:8])
}

// TraceParent returns the W3C trace context of the present attempt. All attempts of a run are spans of one trace, so a tracing
// system shows them side by side.
func (r *Run) TraceParent(sampled bool) string {
	ids := r.TraceIDs()
	_, call := r.AttemptSpans(r.Token)
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, ids.Trace[:]), '-')
	b = hex.AppendEncode(b, call[:])
	if sampled {
		return string(append(b, "-01"...))
	}
	return string(append(b, "-00"...))
}

func (r *Run) traceName() []byte {
	return append(append(append(make([]byte, 0, 192), r.Job...), '/'), r.ID...)
}
