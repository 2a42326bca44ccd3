package authn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/authn"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/test/files"
)

// stored is the copy of the tokens in a store.
type stored struct {
	tokens map[string]*auth.Token
	heard  time.Time
}

func (s *stored) Token(id string) (*auth.Token, time.Time) { return s.tokens[id], s.heard }

// opened returns an Authenticator with one token in its file, and its clock.
func opened(t testing.TB, file string, tokens authn.Tokens) (*authn.Authenticator, *atomic.Int64) {
	t.Helper()
	path := files.Write(t, filepath.Join(t.TempDir(), "auth.yaml"), file)
	began := time.Now()
	passed := &atomic.Int64{} // nanoseconds
	a, err := authn.Open(path, func() time.Time { return began.Add(time.Duration(passed.Load())) }, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if tokens != nil {
		a.UseTokens(tokens)
	}
	return a, passed
}

func TestWithoutTheStoreItsTokensCountForTenMinutes(t *testing.T) {
	inFile, inStore := secret(t), secret(t)
	from := &stored{heard: time.Now(), tokens: map[string]*auth.Token{
		inStore.ID: {ID: inStore.ID, Hash: inStore.Hash(), Principal: "ci", Role: auth.Viewer},
	}}
	a, passed := opened(t, "tokens:\n"+entry(inFile, "alice", "admin"), from)
	for _, step := range []struct {
		after time.Duration
		want  error
	}{{0, nil}, {9 * time.Minute, nil}, {11 * time.Minute, auth.ErrStale}} {
		passed.Store(int64(step.after))
		c, err := a.Authenticate(request(t, inStore.Text(), ""))
		if !errors.Is(err, step.want) || (step.want == nil) != (c.Principal == "ci") {
			t.Errorf("after %v: got %q, %v, want %v", step.after, c.Principal, err, step.want)
		}
		if c, err := a.Authenticate(request(t, inFile.Text(), "")); err != nil || c.Principal != "alice" {
			t.Errorf("after %v, a token of the file: got %q, %v", step.after, c.Principal, err)
		}
		if c, err := a.Authenticate(request(t, "", "rota://prod/user/alice")); err != nil || c.Principal != "alice" {
			t.Errorf("after %v, a certificate: got %q, %v", step.after, c.Principal, err)
		}
	}
	from.heard = time.Now().Add(11 * time.Minute)
	if c, err := a.Authenticate(request(t, inStore.Text(), "")); err != nil || c.Principal != "ci" {
		t.Errorf("after the store answered again: got %q, %v", c.Principal, err)
	}
}

// The clock of this process is an hour behind the leader's. Once the two are compared, a token expires by the leader's clock.
func TestAWrongClockDoesNotKeepATokenAlive(t *testing.T) {
	s := secret(t)
	expires := time.Now().Add(30 * time.Minute)
	from := &stored{heard: time.Now(), tokens: map[string]*auth.Token{
		s.ID: {ID: s.ID, Hash: s.Hash(), Principal: "ci", Role: auth.Viewer, Expires: expires},
	}}
	a, _ := opened(t, "bindings: [{principal: alice, role: admin}]", from)
	if c, err := a.Authenticate(request(t, s.Text(), "")); err != nil || c.Principal != "ci" {
		t.Errorf("by the own clock: got %q, %v", c.Principal, err)
	}
	a.UseClock(func(now time.Time) time.Time { return now.Add(time.Hour) })
	if _, err := a.Authenticate(request(t, s.Text(), "")); !errors.Is(err, auth.ErrExpired) {
		t.Errorf("by the leader's clock: got %v, want %v", err, auth.ErrExpired)
	}
	a.UseClock(func(now time.Time) time.Time { return now.Add(-time.Hour) })
	if c, err := a.Authenticate(request(t, s.Text(), "")); err != nil || c.Principal != "ci" {
		t.Errorf("with a clock that is an hour ahead: got %q, %v", c.Principal, err)
	}
}

func TestAWrongFileIsReportedUntilItIsCorrected(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "auth.yaml")
	write := func(text string) {
		files.Write(t, path, text)
	}
	write("bindings: [{principal: alice, role: admin}]")
	synctest.Test(t, func(t *testing.T) {
		a, err := authn.Open(path, time.Now, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = a.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		if m := a.Mistake(); m != nil {
			t.Errorf("a right file: got %+v", m)
		}
		write("bindings: [{principal: alice, role: root}]")
		time.Sleep(2 * time.Second) // the clock of the bubble: the file is polled
		synctest.Wait()
		m := a.Mistake()
		if m == nil || !strings.Contains(m.Text, "auth.yaml:1:") || m.Since.IsZero() {
			t.Fatalf("a wrong file: got %+v", m)
		}
		since := m.Since
		write("bindings: [{principal: alice, role: nothing}]")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if m := a.Mistake(); m == nil || !m.Since.Equal(since) {
			t.Errorf("another wrong file: got %+v, want since %v", m, since)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if a.Mistake() == nil {
			t.Error("a missing file is not reported")
		}
		write("bindings: [{principal: alice, role: viewer}]")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if m := a.Mistake(); m != nil {
			t.Errorf("a corrected file: got %+v", m)
		}
	})
}

// BenchmarkAuthenticate shows that a look-up costs the same with many tokens as with few, in the file and in the store.
func BenchmarkAuthenticate(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		var file strings.Builder
		file.WriteString("tokens:\n")
		from := &stored{heard: time.Now(), tokens: map[string]*auth.Token{}}
		var inFile, inStore auth.Secret
		for range n {
			inFile, inStore = secret(b), secret(b)
			file.WriteString(entry(inFile, "ci", "viewer"))
			from.tokens[inStore.ID] = &auth.Token{ID: inStore.ID, Hash: inStore.Hash(), Principal: "ci", Role: auth.Viewer}
		}
		a, _ := opened(b, file.String(), from)
		for where, text := range map[string]string{"file": inFile.Text(), "store": inStore.Text(), "neither": secret(b).Text()} {
			b.Run(fmt.Sprintf("%s/%d", where, n), func(b *testing.B) {
				r := request(b, text, "")
				for b.Loop() {
					_, _ = a.Authenticate(r)
				}
			})
		}
	}
}
