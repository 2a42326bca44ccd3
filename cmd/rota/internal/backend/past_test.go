package backend

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/rota-scheduler/rota/store"
)

// longPast writes three times as much as a live store can read of its past, 256 KiB in each revision. It returns the revisions before
// and after that.
func longPast(t *testing.T, b *Backend) (first, last int64) {
	t.Helper()
	reason := strings.Repeat("x", 256<<10)
	for i := range 3 * store.BriefLog / len(reason) {
		event := fmt.Sprintf(`{"id":"e%d","job":"j","kind":"late","reason":"%s"}`, i, reason)
		resp, err := b.client.Put(t.Context(), fmt.Sprintf("/rota/events/j/e%d", i), event)
		if err != nil {
			t.Fatal(err)
		}
		if last = resp.Header.Revision; i == 0 {
			first = last
		}
	}
	if err := b.mirror.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	return first - 1, last
}

// etcd applies no write while it reads the past. So a stream that continues after a revision of long ago begins now, and its client
// learns that events are missing.
func TestAStreamFromLongAgoBeginsNow(t *testing.T) {
	b := inMemory(t)
	first, last := longPast(t, b)
	defer b.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for after, want := range map[int64]int64{first: last, first + 1: last, last - 5: last - 5, last: last} {
		from, _, err := b.Watch(ctx, after)
		if err != nil || from != want {
			t.Errorf("after revision %d of %d: the stream begins at %d (%v), want %d", after, last, from, err, want)
		}
	}
	_, events, err := b.Watch(ctx, last-1)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-events:
		if len(got) != 1 || got[0].Revision != last {
			t.Errorf("a stream that begins in the recent past has %d events, want the last one", len(got))
		}
	case <-time.After(10 * time.Second):
		t.Error("a stream that begins in the recent past has no event")
	}
}

// Many streams that begin in the past read no more of it in a second than one.
func TestStreamsShareWhatTheyReadOfThePast(t *testing.T) {
	b := inMemory(t)
	_, last := longPast(t, b)
	defer b.Wait()
	b.past = rate.NewLimiter(0, store.BriefLog) // the second never ends
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, _, err := b.Watch(ctx, last-24); err != nil {
		t.Fatal(err)
	}
	if from, _, err := b.Watch(ctx, last-24); err != nil || from != last {
		t.Errorf("the second of two streams that read 6 MiB begins at %d (%v), want %d", from, err, last)
	}
	for _, after := range []int64{0, last, last - 1} {
		if _, _, err := b.Watch(ctx, after); err != nil {
			t.Errorf("a stream after revision %d of %d: %v", after, last, err)
		}
	}
}
