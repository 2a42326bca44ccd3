package etcdconn

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// slowAuth answers each login after a time.
type slowAuth struct {
	clientv3.Auth
	after  time.Duration
	err    error
	logins int
	ended  int // logins that have returned
}

func (s *slowAuth) Authenticate(ctx context.Context, _, _ string) (*clientv3.AuthenticateResponse, error) {
	s.logins++
	defer func() { s.ended++ }()
	token := fmt.Sprint("token ", s.logins)
	select {
	case <-time.After(s.after):
		return &clientv3.AuthenticateResponse{Token: token}, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestLoginsAreShared opens ten streams in each of ten seconds while a login takes longer than the patience of a caller.
func TestLoginsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := &slowAuth{after: 4 * time.Second}
		s := &logins{Auth: etcd, now: time.Now, life: t.Context}
		served := 0
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := s.Authenticate(ctx, "rota", "x"); err == nil {
				served++
				time.Sleep(100 * time.Millisecond)
			}
			cancel()
		}
		synctest.Wait() // a login may be in progress
		if etcd.logins > 3 || served < 20 {
			t.Errorf("got %d logins for %d streams, want at most 3 for at least 20", etcd.logins, served)
		}
		time.Sleep(time.Minute)
		got, err := s.Authenticate(t.Context(), "rota", "x")
		if err != nil || got.Token != fmt.Sprint("token ", etcd.logins) || etcd.logins > 4 {
			t.Errorf("later: got %v, %v after %d logins, want a new token", got, err, etcd.logins)
		}
		etcd.err, etcd.after = errors.New("refused"), 0
		time.Sleep(time.Minute)
		before := etcd.logins
		for range 2 {
			if _, err := s.Authenticate(t.Context(), "rota", "x"); err == nil {
				t.Error("a refused login succeeds")
			}
		}
		if etcd.logins != before+2 {
			t.Errorf("got %d logins, want 2: a refusal is not shared", etcd.logins-before)
		}
	})
}

// TestAClosedClientHasNoLogin closes a client during a login that etcd does not answer, and whose caller has given up.
func TestAClosedClientHasNoLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd, client := &slowAuth{after: time.Hour}, clientv3.NewCtxClient(t.Context())
		s := &logins{Auth: etcd, now: time.Now, life: client.Ctx}
		client.Auth = s
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Authenticate(ctx, "rota", "x"); err == nil {
			t.Fatal("a login succeeds without an answer")
		}
		began := time.Now()
		if err := closeClient(client); err != nil || etcd.ended != 1 || time.Since(began) > 0 {
			t.Errorf("got %v after %v, %d logins have ended, want one at once", err, time.Since(began), etcd.ended)
		}
		if _, err := s.Authenticate(t.Context(), "rota", "x"); err == nil || etcd.logins != 1 {
			t.Errorf("after the end: got %v, %d logins, want an error and no further login", err, etcd.logins)
		}
	})
}
