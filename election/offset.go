package election

import (
	"fmt"
	"strings"
	"time"
)

// Offset is how far the clock of another replica is ahead of ours.
type Offset struct {
	Node        string
	Ahead       time.Duration // negative: it is behind
	Uncertainty time.Duration // the truth is within Ahead ± Uncertainty
	At          time.Time     // of the measurement, by our clock
}

// Measure computes an offset as NTP does: we asked at sent, it received the question at received and answered at
// answered, by its own clock, and we had the answer at returned. Took is from sent to returned on our monotonic clock.
func Measure(node string, sent, received, answered time.Time, took time.Duration) Offset {
	away := took - answered.Sub(received)
	ahead := (received.Sub(sent) + answered.Sub(sent) - took) / 2
	return Offset{Node: node, Ahead: ahead, Uncertainty: max(0, away/2), At: sent}
}

// clockShare is the share of the tolerance that an offset may use up, in percent. The rest is for what the clocks do until
// the next measurement.
const clockShare = 80

// Beyond says whether the clocks differ by more than what may use up the tolerance, whatever the uncertainty hides.
func (o Offset) Beyond(tolerance time.Duration) bool {
	return max(o.Ahead, -o.Ahead)-o.Uncertainty > tolerance*clockShare/100
}

// Skewed says why our clock is not to be trusted with leading, or nil: more of the others differ from it by more than 80 %
// of the tolerance than agree with it, ourselves included. Of two replicas that differ nobody knows which is wrong, so both
// may lead.
func Skewed(offsets []Offset, tolerance time.Duration) error {
	agree := 1
	var off []string
	for _, o := range offsets {
		if o.Beyond(tolerance) {
			off = append(off, fmt.Sprintf("%s is %v ahead", o.Node, o.Ahead.Round(time.Millisecond)))
		} else {
			agree++
		}
	}
	if len(off) <= agree {
		return nil
	}
	return fmt.Errorf("our clock differs from most others by more than %v: %s", tolerance*clockShare/100, strings.Join(off, ", "))
}
