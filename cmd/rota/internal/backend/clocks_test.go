package backend

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// measured are clocks of which wrong says whether this process's own one is right.
type measured struct{ wrong error }

func (m measured) Now(context.Context) (time.Time, error) { return time.Time{}, m.wrong }
func (m measured) Corrected(now time.Time) time.Time      { return now }
func (m measured) Trusted() error                         { return m.wrong }
func (m measured) Tolerance() time.Duration               { return 3 * time.Second }
func (m measured) Views() []api.ClockView                 { return nil }

func TestAReplicaWithAWrongClockNeedsAttention(t *testing.T) {
	t.Parallel()
	q1, q3 := api.ClockView{Node: "q1", OffsetSeconds: -3600}, api.ClockView{Node: "q3", OffsetSeconds: 0.1}
	for name, c := range map[string]struct {
		clocks []api.ClockView
		wrong  error
		want   string
	}{
		"another clock is wrong":  {[]api.ClockView{q1, q3}, nil, "q1: Replica q1 cannot lead: its clock is 1h0m0s behind that of q2."},
		"all clocks are right":    {[]api.ClockView{q3, q3}, nil, ""},
		"two clocks":              {[]api.ClockView{q1}, nil, ""},
		"this clock is wrong":     {[]api.ClockView{q1, q3}, errors.New("skewed"), ""},
		"it is known imprecisely": {[]api.ClockView{{Node: "q1", OffsetSeconds: 4, UncertaintySeconds: 2}, q3}, nil, ""},
		"within the tolerance":    {[]api.ClockView{{Node: "q1", OffsetSeconds: 2}, q3}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, got := &Backend{cfg: Config{Node: "q2"}, clocks: measured{c.wrong}}, ""
			b.addClocks(&api.ClusterView{Clocks: c.clocks}, func(_, node, text, _ string, _ time.Time) { got += node + ": " + text })
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
