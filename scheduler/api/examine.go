package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

// Examiner examines the whole cluster. It changes nothing. Its answers name all jobs.
type Examiner interface {
	// Verify checks the invariants on all records, and on the changes that the store still has. It returns *Refusal if the store
	// is too large for the memory of this process.
	Verify(ctx context.Context) (VerifyView, error)
	// Doctor finds what will harm the cluster.
	Doctor(ctx context.Context) (DoctorView, error)
}

// ExamineTimeout bounds an examination. It reads the whole store.
const ExamineTimeout = 2 * time.Minute

// VerifyView says which invariants are broken.
type VerifyView struct {
	verify.Report
	From     int64 `json:"from_revision" doc:"The oldest revision whose changes were checked; 1 if all were"`
	Revision int64 `json:"revision" doc:"Store revision of the records"`
}

// DoctorView says what was examined, and what was found.
type DoctorView struct {
	doctor.Report
	Node string `json:"node" doc:"The replica that examined the cluster, its own machine and its own settings"`
}

func (s *Server) registerExaminations(doc huma.API) {
	if s.back.Examiner == nil {
		return
	}
	one := newTurn("examines the cluster")
	register(s, doc, operation{
		id: "verify-store", right: auth.Admin, method: http.MethodPost, path: "/v1/verify",
		summary: "Check the invariants on the data in the store", errors: []int{409, 429}, timeout: ExamineTimeout,
	}, func(ctx context.Context, _ *struct{}) (*body[VerifyView], error) {
		return inTurn(ctx, s, one, s.back.Examiner.Verify)
	})
	register(s, doc, operation{
		id: "examine-cluster", right: auth.Admin, method: http.MethodPost, path: "/v1/doctor",
		summary: "Find what will harm the cluster, and what to do", errors: []int{429}, timeout: ExamineTimeout,
	}, func(ctx context.Context, _ *struct{}) (*body[DoctorView], error) {
		return inTurn(ctx, s, one, s.back.Examiner.Doctor)
	})
}

// turn is work that a process does for one client at a time, because it takes much memory or time.
type turn struct {
	does string
	free chan struct{} // holds a token while the work is done
}

func newTurn(does string) turn { return turn{does, make(chan struct{}, 1)} }

// inTurn does the work, which returns a view. While it is done for another client, inTurn returns a 429 answer.
func inTurn[V any](ctx context.Context, s *Server, t turn, work func(context.Context) (V, error)) (*body[V], error) {
	select {
	case t.free <- struct{}{}:
		defer func() { <-t.free }()
		v, err := work(ctx)
		return &body[V]{v}, err
	default:
		s.refused(RefusedBusy)
		return nil, again(huma.Error429TooManyRequests(
			"this replica "+t.does+" for another client: try again, or ask another replica"), retryAfter)
	}
}

type extendKey struct{}

// extend lets the answer to a request take until the timeout. The connection has the deadline of an ordinary request otherwise.
func extend(ctx context.Context, timeout time.Duration) {
	if set, ok := ctx.Value(extendKey{}).(func(time.Duration)); ok {
		set(timeout)
	}
}

// extensible returns r with a context for extend.
func (s *Server) extensible(w http.ResponseWriter, r *http.Request) *http.Request {
	control := http.NewResponseController(w)
	set := func(timeout time.Duration) {
		// An error means that the connection has no deadlines, as in tests.
		_ = control.SetWriteDeadline(time.Now().Add(timeout + s.cfg.WriteTimeout))
	}
	set(s.cfg.RequestTimeout)
	return r.WithContext(context.WithValue(r.Context(), extendKey{}, set))
}
