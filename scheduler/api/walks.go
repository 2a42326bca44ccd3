package api

import (
	"context"
	"fmt"
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
