package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime"

	"github.com/danielgtaylor/huma/v2"
)

// newWalks returns the places of operations that visit all jobs or runs. At most half of the processors do that, also for pages.
// Otherwise, with a hundred thousand jobs, a client could keep all of them busy. The store and the leader of this process would
// wait behind its requests.
func newWalks() chan struct{} { return make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)) }

// walk waits for a place until ctx ends. The caller must call leave, before it sends its answer.
func (s *Server) walk(ctx context.Context) (leave func(), err error) {
	select {
	case s.walks <- struct{}{}:
		return func() { <-s.walks }, nil
	case <-ctx.Done():
		s.refused(RefusedBusy)
		return nil, again(huma.Error503ServiceUnavailable(
			fmt.Sprintf("this replica has no time for more lists: try again, or ask another replica (%v)", context.Cause(ctx))), retryAfter)
	}
}

type turnKey struct{}

// Turn waits until this process has time to make the page that ctx belongs to. The caller must call leave before it sends the
// page.
func Turn(ctx context.Context) (leave func(), err error) {
	if walk, ok := ctx.Value(turnKey{}).(func(context.Context) (func(), error)); ok {
		return walk(ctx)
	}
	return func() {}, nil
}

// withTurns lets pages take turns with walks, because making a page takes a processor for some milliseconds.
func (s *Server) withTurns(page http.Handler) http.Handler {
	walk := func(ctx context.Context) (func(), error) {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout/2) // afterwards the client has as long to read the page
		defer cancel()
		return s.walk(ctx)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), turnKey{}, walk)))
	})
}
