package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Run checks that a store has the semantics of etcd that rota uses. It calls
// open for a client for each claim. All clients may use the same store, but
// meanwhile no other client may write to it or compact it. Run takes some
// seconds, because leases expire in it.
func Run(t *testing.T, open func(t *testing.T) *clientv3.Client) {
	run(t, open, func(t *testing.T, f func(*testing.T)) { f(t) })
}

// run is Run, but it calls within for each claim. within may, for example,
// execute it in a bubble.
func run(t *testing.T, open func(t *testing.T) *clientv3.Client, within func(*testing.T, func(*testing.T))) {
	groups := []struct {
		name   string
		claims []claim
	}{
		{"kv", kvClaims},
		{"txn", txnClaims},
		{"refusal", refusalClaims},
		{"lease", leaseClaims},
		{"watch", watchClaims},
		{"election", electionClaims},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.claims {
				t.Run(c.name, func(t *testing.T) {
					within(t, func(t *testing.T) {
						client := open(t)
						ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
						t.Cleanup(cancel)
						c.holds(&store{T: t, Client: client, ctx: ctx, prefix: t.Name() + "/"})
					})
				})
			}
		})
	}
}

// claim is a statement that must be true of any etcd.
type claim struct {
	name  string
	holds func(s *store)
}

// store is a client for one claim. Its keys begin with the claim's prefix, and
// its methods fail the test if a call fails.
type store struct {
	*testing.T
	*clientv3.Client
	ctx    context.Context
	prefix string
}

func (s *store) key(k string) string { return s.prefix + k }

// must returns a function that returns the result of a call, or ends the test
// if the call failed.
func must[R any](r R, err error) func(s *store) R {
	return func(s *store) R {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
		return r
	}
}

func (s *store) put(k, v string, opts ...clientv3.OpOption) *clientv3.PutResponse {
	s.Helper()
	return must(s.Put(s.ctx, s.key(k), v, opts...))(s)
}

func (s *store) get(k string, opts ...clientv3.OpOption) *clientv3.GetResponse {
	s.Helper()
	return must(s.Get(s.ctx, s.key(k), opts...))(s)
}

func (s *store) del(k string, opts ...clientv3.OpOption) *clientv3.DeleteResponse {
	s.Helper()
	return must(s.Delete(s.ctx, s.key(k), opts...))(s)
}

func (s *store) rev() int64 {
	s.Helper()
	return s.get("").Header.Revision
}

func (s *store) grant(ttl int64) clientv3.LeaseID {
	s.Helper()
	return must(s.Grant(s.ctx, ttl))(s).ID
}

// want checks that two values have the same text.
func (s *store) want(what string, got, want any) {
	s.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		s.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// wantErr checks that got is exactly the error that etcd's client gives.
func (s *store) wantErr(what string, got, want error) {
	s.Helper()
	if !errors.Is(got, want) {
		s.Errorf("%s: got error %T %v, want %T %v", what, got, got, want, want)
	}
}

// kvs formats the pairs of a response as key=value, without the claim's prefix.
func (s *store) kvs(r *clientv3.GetResponse) string {
	var out []string
	for _, kv := range r.Kvs {
		out = append(out, strings.TrimPrefix(string(kv.Key), s.prefix)+"="+string(kv.Value))
	}
	return strings.Join(out, " ")
}

// next reads one response of a watch.
func (s *store) next(w clientv3.WatchChan) clientv3.WatchResponse {
	s.Helper()
	select {
	case r, ok := <-w:
		if !ok {
			s.Fatal("the watch is closed")
		}
		return r
	case <-s.ctx.Done():
		s.Fatal("nothing comes from the watch")
	}
	return clientv3.WatchResponse{}
}

// events formats the events of a response: + for a put, - for a deletion.
func (s *store) events(r clientv3.WatchResponse) string {
	var out []string
	for _, e := range r.Events {
		k := strings.TrimPrefix(string(e.Kv.Key), s.prefix)
		switch {
		case e.Type == clientv3.EventTypeDelete:
			k = "-" + k
		default:
			k = "+" + k + "=" + string(e.Kv.Value)
		}
		if e.PrevKv != nil {
			k += "(" + string(e.PrevKv.Value) + ")"
		}
		out = append(out, k)
	}
	return strings.Join(out, " ")
}
