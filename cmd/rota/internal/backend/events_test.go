package backend

import (
	"context"
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
			live, out := make(chan message), make(chan []api.Event)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go (&eventStream{live: live, out: out, stop: stop}).run(t.Context())
			taken := 0
			for ended := false; !ended; {
				select {
				case live <- messageOf(tc.bytes, taken+1):
					if taken++; taken > tc.max {
						t.Fatalf("the stream took %d changes, want at most %d", taken, tc.max)
					}
				case <-ctx.Done():
					ended = true
				case <-time.After(10 * time.Second):
					t.Fatalf("the stream neither takes changes nor ends, after %d", taken)
				}
			}
			if taken < tc.min {
				t.Errorf("the stream took %d changes, want at least %d", taken, tc.min)
			}
			read := 0
			for range out { // until the reader learns that its stream has ended
				read++
			}
			if read != taken {
				t.Errorf("the late reader got %d of %d changes", read, taken)
			}
		})
	}
}

// TestAReaderGetsEveryChange reads large changes one by one, in their order.
func TestAReaderGetsEveryChange(t *testing.T) {
	live, out := make(chan message), make(chan []api.Event)
	go (&eventStream{live: live, out: out, stop: func() {}}).run(t.Context())
	for n := range 20 {
		live <- messageOf(2*eventBytes, n+1)
		if got := <-out; len(got) != 1 || got[0].Revision != int64(n+1) || len(got[0].Value) < 2*eventBytes {
			t.Fatalf("change %d: got %d events", n, len(got))
		}
	}
	close(live)
	if _, open := <-out; open {
		t.Error("the stream goes on after its source")
	}
}

// messageOf returns a message with an event about a run that has a payload.
func messageOf(bytes, rev int) message {
	return message{int64(rev), (&Backend{}).events([]job.Change{runOf(bytes, int64(rev))})}
}

// runOf returns a change of a run with a payload.
func runOf(bytes int, rev int64) job.Change {
	payload := []byte(`"` + strings.Repeat("x", bytes) + `"`)
	return job.Change{Kind: job.RecordRun, Name: "a/1", Rev: rev, Value: &job.Run{Job: "a", ID: "1", Payload: payload, Rev: rev}}
}
