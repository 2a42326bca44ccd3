package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/poll"
)

// lockedBuffer is a buffer whose text a test awaits.
type lockedBuffer struct{ buffer.Buffer }

// await polls until the buffer has the text.
func (b *lockedBuffer) await(t *testing.T, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q in the output", text), func() bool { return strings.Contains(b.String(), text) })
}

var eventually = poll.Until

// watching runs a command against a cluster in memory. stop sends it Ctrl-C, and returns its exit code and stderr.
func watching(t *testing.T, fake *fakeCluster, args ...string) (out *lockedBuffer, stop func() (int, string)) {
	t.Helper()
	server := httptest.NewServer(api.New(api.DefaultConfig(), fake.backend(), hclog.NewNullLogger()).Handler())
	ctx, cancel := context.WithCancelCause(context.Background())
	out = &lockedBuffer{}
	stderr := &lockedBuffer{}
	code := make(chan int, 1)
	t.Setenv("HOME", t.TempDir())
	go func() { code <- run(ctx, append(args, "--server", server.URL), strings.NewReader(""), out, stderr) }() // stop waits for it
	t.Cleanup(func() { cancel(nil); server.Close() })
	return out, func() (int, string) {
		cancel(interrupted{syscall.SIGINT})
		return <-code, stderr.String()
	}
}

func TestWatchedListPrintsOnlyChangedRows(t *testing.T) {
	fake := newFakeCluster()
	out, stop := watching(t, fake, "jobs", "--watch")
	out.await(t, "\nweb ")
	before := out.String()
	if _, err := fake.PauseJob(t.Context(), "slow", &job.Pause{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	out.await(t, "paused\n")
	if err := fake.Delete(t.Context(), api.KindJob, "flaky", api.Precondition{}, ""); err != nil {
		t.Fatal(err)
	}
	out.await(t, "deleted\n")
	code, stderr := stop()
	if code != 130 || stderr != "" {
		t.Errorf("got exit code %d and %q on stderr, want 130 and nothing", code, stderr)
	}
	news := strings.Split(strings.TrimSpace(strings.TrimPrefix(out.String(), before)), "\n")
	if len(news) != 2 || !strings.HasPrefix(news[0], "slow ") || !strings.HasPrefix(news[1], "flaky ") {
		t.Errorf("got the new rows %q, want one of slow and one of flaky", news)
	}
	header, _, _ := strings.Cut(before, "\n")
	if at := strings.Index(header, "STATE"); strings.Index(news[0], "paused") != at {
		t.Errorf("the new row is not below the header:\n%s\n%s", header, news[0])
	}
}

func TestAWatchedJobInAnotherStateIsNotDeleted(t *testing.T) {
	fake := newFakeCluster()
	out, stop := watching(t, fake, "jobs", "--watch", "--state", "new")
	out.await(t, "\nweb ")
	if _, err := fake.PauseJob(t.Context(), "slow", &job.Pause{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	out.await(t, "not listed\n")
	if stop(); strings.Contains(out.String(), "deleted") {
		t.Errorf("a paused job is said to be deleted:\n%s", out.String())
	}
}

func TestWatchedRunsPrintDocuments(t *testing.T) {
	fake := newFakeCluster()
	out, stop := watching(t, fake, "runs", "ok", "--watch", "-o", `jsonpath={.run} {.state}{"\n"}`)
	out.await(t, "ok/2026-01-31T01:30:00Z succeeded\n")
	if _, _, err := fake.Submit(t.Context(), api.Submission{Job: "ok", Kind: job.KindManual}); err != nil {
		t.Fatal(err)
	}
	out.await(t, " pending\n")
	if code, stderr := stop(); code != 130 || stderr != "" {
		t.Errorf("got exit code %d and %q on stderr, want 130 and nothing", code, stderr)
	}
}

func TestWatchedStatusIsPrintedAgain(t *testing.T) {
	fake := newFakeCluster()
	out, stop := watching(t, fake, "status", "-w")
	out.await(t, "Cluster:")
	if _, err := fake.PauseAll(t.Context(), &job.Pause{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	out.await(t, "All jobs are paused.")
	stop()
}

func TestFollowedEventsEndWithTheToken(t *testing.T) {
	handler := api.New(api.DefaultConfig(), newFakeCluster().backend(), hclog.NewNullLogger()).Handler()
	var revoked atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if revoked.Load() {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"status": 401, "detail": "who are you?"}`))
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	t.Setenv("HOME", t.TempDir())
	out, stderr, code := &lockedBuffer{}, &lockedBuffer{}, make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"events", "-f", "--since", "10000d", "--server", server.URL}, strings.NewReader(""), out, stderr)
	}()
	out.await(t, "q3 died")
	revoked.Store(true)
	if got := <-code; got != 1 || !strings.Contains(stderr.String(), "who are you?") {
		t.Errorf("got exit code %d and %q, want 1 and the refusal", got, stderr.String())
	}
}

// The same text at two times is two entries, of which each is printed once. An entry before --since is never printed.
func TestFollowedEventsArePrintedOnce(t *testing.T) {
	fake := newFakeCluster()
	now := time.Now().UTC()
	again := timeline.Entry{At: now, Kind: timeline.KindChanged, Text: "ann paused job ok."}
	old := timeline.Entry{At: now.Add(-time.Minute), Kind: timeline.KindChanged, Text: "ann resumed job ok."}
	fake.entries = []timeline.Entry{old, again, {At: now.Add(time.Second), Kind: timeline.KindChanged, Text: again.Text}}
	out, stop := watching(t, fake, "events", "-f", "--since", "40s")
	out.await(t, again.Text)
	reads := fake.timelines.Load()
	eventually(t, "two more looks", func() bool { return fake.timelines.Load() >= reads+2 })
	stop()
	if n := strings.Count(out.String(), again.Text); n != 2 {
		t.Errorf("two entries were printed %d times:\n%s", n, out.String())
	}
	if strings.Contains(out.String(), old.Text) {
		t.Errorf("an entry before --since was printed:\n%s", out.String())
	}
}

// The zero time as --since is no limit, so the filter has none.
func TestEventsAreFollowedSinceEver(t *testing.T) {
	fake := newFakeCluster()
	out, stop := watching(t, fake, "events", "-f", "--since", "0001-01-01T00:00:00Z")
	out.await(t, "q3 died")
	reads := fake.timelines.Load()
	eventually(t, "one more look", func() bool { return fake.timelines.Load() > reads })
	if _, stderr := stop(); strings.Contains(stderr, "parsing time") {
		t.Errorf("got %q", stderr)
	}
}
