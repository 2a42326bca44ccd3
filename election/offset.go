package election

import (
	"fmt"
	"strings"
	"time"
)

// Offset is how far the clock of another replica is ahead of ours.
type Offset struct {
	Node        string
	Ahead       time.Duration // negative: the clock is behind ours
	Uncertainty time.Duration // the true offset is within Ahead ± Uncertainty
	At          time.Time     // when it was measured, by our clock
}

// Measure computes an offset as NTP does. We sent the request at sent, and had the answer after took, on our monotonic clock.
// The other replica received the request at received and answered at answered, by its own clock.
func Measure(node string, sent, received, answered time.Time, took time.Duration) Offset {
	away := took - answered.Sub(received)
	ahead := (received.Sub(sent) + answered.Sub(sent) - took) / 2
	return Offset{Node: node, Ahead: ahead, Uncertainty: max(0, away/2), At: sent}
}

// clockShare is the share of the tolerance that an offset may use, in percent. The rest is for drift until the next measurement.
const clockShare = 80

// Beyond reports whether the clocks certainly differ by more than 80 % of the tolerance.
func (o Offset) Beyond(tolerance time.Duration) bool {
	return max(o.Ahead, -o.Ahead)-o.Uncertainty > tolerance*clockShare/100
}

// outvoted returns an error if more replicas disagree with our clock than agree with it. A replica disagrees if the
// clocks differ by more than 80 % of the tolerance. Our own replica counts as one that agrees. So if the clocks of two
// replicas differ, both may lead, because neither knows which clock is wrong.
func outvoted(offsets []Offset, tolerance time.Duration) error {
	agree := 1
	var off []string
	for _, o := range offsets {
		if o.Beyond(tolerance) {
			way := "ahead"
			if o.Ahead < 0 {
				way = "behind"
			}
			off = append(off, fmt.Sprintf("%s is %v %s", o.Node, o.Ahead.Abs().Round(time.Millisecond), way))
		} else {
			agree++
		}
	}
	if len(off) <= agree {
		return nil
	}
	return fmt.Errorf("our clock differs from most others by more than %v: %s", tolerance*clockShare/100, strings.Join(off, ", "))
}
