package election

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// story is the log of an elector at Info and above, without times, terms and error texts.
type story struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func newStory() *story { return &story{} }

func (s *story) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *story) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: s, DisableTime: true})
}

func (s *story) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for line := range strings.Lines(s.buf.String()) {
		for _, detail := range []string{" term=", ": err="} {
			line, _, _ = strings.Cut(line, detail)
		}
		lines = append(lines, strings.Join(strings.Fields(strings.TrimSuffix(line, ":")), " "))
	}
	return lines
}

func (s *story) check(t *testing.T, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), s.lines()); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
}

func TestTheStoryOfTwoTerms(t *testing.T) {
	t.Parallel()
	client, story := dial(t), newStory()
	leader := contender(t, client)
	a := startLogged(t, client, quick("a"), false, story.logger())
	eventually(t, "a waits", func() bool { return a.Status().State == StateCandidate })
	if err := leader.Resign(call(t)); err != nil {
		t.Fatalf("resign: %v", err)
	}
	first := a.nextTerm(t)
	remove(t, client, first.Key)
	a.nextTerm(t)
	a.stop()
	receive(t, "Run to return", a.result)
	story.check(t, `
[INFO] election state changed: from=follower to=candidate
[INFO] election state changed: from=candidate to=confirming
[INFO] election state changed: from=confirming to=leader
[WARN] term lost
[INFO] election state changed: from=leader to=resigning
[INFO] election state changed: from=resigning to=follower
[INFO] election state changed: from=follower to=candidate
[INFO] election state changed: from=candidate to=confirming
[INFO] election state changed: from=confirming to=leader
[INFO] election state changed: from=leader to=resigning
[INFO] election state changed: from=resigning to=follower
`)
}

func TestTheTransitionTableIsTheMachine(t *testing.T) {
	for from, row := range states {
		if row.name == "" || len(row.after) == 0 || slices.Contains(row.after, State(from)) {
			t.Errorf("state %d has no name, is followed by none, or by itself: %+v", from, row)
		}
	}
}

func TestStatusShowsTheTermAndTheLease(t *testing.T) {
	t.Parallel()
	a := start(t, dial(t), quick("a"), false)
	term := a.nextTerm(t)
	got := a.Status()
	if got.State != StateLeader || got.Term != term.Term || got.Err != nil {
		t.Errorf("status of a leader: got %+v, want leader of %v", got, term.Term)
	}
	if left := time.Until(got.LeaseDeadline); left <= 0 || left > longTTL {
		t.Errorf("lease deadline: got in %v, want within the TTL", left)
	}
	a.stop()
	receive(t, "Run to return", a.result)
	if diff := cmp.Diff(Status{}, a.Status()); diff != "" {
		t.Errorf("status after Run (-want +got):\n%s", diff)
	}
}

// TestStatesHaveNamesInAnyLog reads the log as JSON, where a number would not say which state it is.
func TestStatesHaveNamesInAnyLog(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, JSONFormat: true})
	New(quick("a"), nil, log).enter(StateCandidate, Term{})
	if want := `"from":"follower"`; !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}
