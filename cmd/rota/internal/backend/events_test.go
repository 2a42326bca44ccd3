package backend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAStreamHoldsFewBytes sends changes to a reader that reads nothing, until its stream ends.
func TestAStreamHoldsFewBytes(t *testing.T) {
	for _, tc := range []struct {
		bytes    int // of each run
		min, max int // number of changes that the stream takes
	}{
		{bytes: 10, min: eventBuffer, max: eventBuffer + 1},
		{bytes: 100_000, min: 9, max: 11},
		{bytes: 2 * eventBytes, min: 1, max: 2},
	} {
		t.Run(fmt.Sprintf("%d bytes", tc.bytes), func(t *testing.T) {
			changes, out, done := make(chan []job.Change), make(chan []api.Event), make(chan struct{})
			go func() {
				defer close(done)
				(&Backend{}).pass(changes, out)
			}()
			taken := 0
			for ended := false; !ended; {
				select {
				case changes <- []job.Change{runOf(tc.bytes, taken)}:
					if taken++; taken > tc.max {
						t.Fatalf("the stream took %d changes, want at most %d", taken, tc.max)
					}
				case <-done:
					ended = true
				case <-time.After(10 * time.Second):
					t.Fatalf("the stream neither takes changes nor ends, after %d", taken)
				}
			}
			if taken < tc.min {
				t.Errorf("the stream took %d changes, want at least %d", taken, tc.min)
			}
			if _, open := <-out; open {
				t.Error("the reader does not learn that its stream has ended")
			}
		})
	}
}

// TestAReaderGetsEveryChange reads large changes one by one, in their order.
func TestAReaderGetsEveryChange(t *testing.T) {
	changes, out := make(chan []job.Change), make(chan []api.Event)
	go (&Backend{}).pass(changes, out)
	for n := range 20 {
		changes <- []job.Change{runOf(2*eventBytes, n)}
		if got := <-out; len(got) != 1 || got[0].Revision != int64(n) || len(got[0].Value) < 2*eventBytes {
			t.Fatalf("change %d: got %d events", n, len(got))
		}
	}
	close(changes)
	if _, open := <-out; open {
		t.Error("the stream goes on after its source")
	}
}

// runOf returns a change of a run with a payload.
func runOf(bytes, n int) job.Change {
	payload := []byte(`"` + strings.Repeat("x", bytes) + `"`)
	return job.Change{Kind: job.RecordRun, Name: "a/1", Rev: int64(n), Value: &job.Run{Job: "a", ID: "1", Payload: payload, Rev: int64(n)}}
}
