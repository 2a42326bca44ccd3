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
// A login continues after its caller has given up, so that the next caller gets its token. The end of the client ends it.
type logins struct {
	clientv3.Auth
	now  func() time.Time
	life func() context.Context // returns a context that ends when the client is closed

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
	l, err := s.share(name, password)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.done:
		return l.resp, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// share returns an error if the client is closed: nobody would wait for another login.
func (s *logins) share(name, password string) (*login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.life().Err(); err != nil {
		return nil, err
	}
	if l := s.current; l != nil {
		select {
		case <-l.done:
			if l.err == nil && s.now().Sub(l.at) < loginReuse {
				return l, nil
			}
		default:
			return l, nil
		}
	}
	l := &login{done: make(chan struct{})}
	s.current = l
	go func() { // ends with the client; closeClient waits for it
		ctx, cancel := context.WithTimeout(s.life(), 5*loginTimeout)
		defer cancel()
		l.resp, l.err = s.Auth.Authenticate(ctx, name, password)
		l.at = s.now()
		close(l.done)
	}()
	return l, nil
}

// wait waits for the login in progress. The client is closed, so the login ends at once.
func (s *logins) wait() {
	s.mu.Lock()
	l := s.current
	s.mu.Unlock()
	if l != nil {
		<-l.done
	}
}

// closeClient closes a client of Dial, and waits until none of its logins is in progress.
func closeClient(c *clientv3.Client) error {
	err := ignoreCanceled(c.Close())
	if l, ok := c.Auth.(*logins); ok {
		l.wait()
	}
	return err
}
