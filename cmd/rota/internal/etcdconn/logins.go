package etcdconn

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// loginReuse is how long a login serves further streams. It also bounds how long a client uses a token that etcd has withdrawn.
const loginReuse = 2 * time.Second

// logins shares the logins of one client. The client logs in for each stream that it opens. If etcd is slow, streams break and
// are opened again, and callers give up before their login ends. Without logins, these logins keep etcd slow for ever.
//
// A login continues after its caller has given up, so that the next caller gets its token.
type logins struct {
	clientv3.Auth
	now func() time.Time

	mu      sync.Mutex
	current *login // guarded by mu: the latest login; nil before the first one
}

type login struct {
	done chan struct{} // closed by the goroutine of the login after it has written the fields below
	resp *clientv3.AuthenticateResponse
	err  error
	at   time.Time // when etcd answered
}

// Authenticate returns the answer to the login in progress, to one of the last loginReuse, or to a new one.
func (s *logins) Authenticate(ctx context.Context, name, password string) (*clientv3.AuthenticateResponse, error) {
	l := s.share(ctx, name, password)
	select {
	case <-l.done:
		return l.resp, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *logins) share(ctx context.Context, name, password string) *login {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.current; l != nil {
		select {
		case <-l.done:
			if l.err == nil && s.now().Sub(l.at) < loginReuse {
				return l
			}
		default:
			return l
		}
	}
	l := &login{done: make(chan struct{})}
	s.current = l
	go func() { // ends within 5*loginTimeout
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*loginTimeout)
		defer cancel()
		l.resp, l.err = s.Auth.Authenticate(ctx, name, password)
		l.at = s.now()
		close(l.done)
	}()
	return l
}
