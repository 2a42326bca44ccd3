package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/webhook"
)

// Hooks starts jobs by signed requests. It verifies them: no other proof of identity is needed.
type Hooks interface {
	// Deliver makes the run of a delivery, and reports whether it made one. If an earlier delivery had the same id, Deliver returns
	// its run. It returns job.ErrNotFound for an unknown hook, and *webhook.Refusal or *Invalid for a delivery that is refused. Then
	// nothing is stored. It returns *SecretError if this replica cannot verify the delivery.
	Deliver(ctx context.Context, d Delivery) (v RunView, created bool, err error)
}

// SecretError says why this replica cannot use the secret of a hook. Clients do not get the cause, which names files.
type SecretError struct {
	Hook  string
	Cause error
}

func (e *SecretError) Error() string {
	return fmt.Sprintf("the secret of hook %s cannot be used on this replica: its log has the cause", e.Hook)
}

// Unwrap returns ErrUnavailable: the sender may try again.
func (e *SecretError) Unwrap() error { return ErrUnavailable }

// Delivery is a request to a hook.
type Delivery struct {
	Hook   string
	Header http.Header // the signed headers
	Body   []byte
	At     time.Time // time of the request
	By     string    // the hook and the address of the client, for records
}

// DeliveryView is the answer to a delivery. A sender may read nothing else, so it is short.
type DeliveryView struct {
	Ref string `json:"run" doc:"The run of the delivery: <job>/<id>"`
}

// deliverHook is the id of the operation that takes deliveries, and the verb of their audit records.
const deliverHook = job.VerbDeliverHook

func (s *Server) registerHooks(doc huma.API) {
	if s.back.Hooks == nil {
		return
	}
	const path = "/v1/hooks/{hook}"
	register(s, doc, operation{
		id: deliverHook, right: auth.Anyone, method: "POST", path: path, status: 201,
		summary: "Start the job of a hook; 200 if a delivery had the same id before. Signed as Standard Webhooks says",
		errors:  []int{400, 403, 404, 409, 413, 422, 507},
	}, s.deliver)
	doc.OpenAPI().Paths[path].Post.RequestBody = &huma.RequestBody{
		Description: "Anything; JSON if the hook has parameters",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{}}},
	}
	alias(doc, path, http.StatusCreated, http.StatusOK)
}

// unread has the headers and the body of a request as the client sent them. A body of any type can be signed.
type unread struct {
	header http.Header
	body   []byte
}

// Resolve implements huma.Resolver.
func (u *unread) Resolve(ctx huma.Context) []error {
	u.header = http.Header{}
	ctx.EachHeader(u.header.Add)
	var err error
	if u.body, err = io.ReadAll(ctx.BodyReader()); err != nil { // takeBody has limited it
		return []error{err}
	}
	return nil
}

type deliveryInput struct {
	unread
	Hook      string `path:"hook"`
	ID        string `header:"webhook-id" doc:"Identifies the delivery: the same id makes one run"`
	Timestamp string `header:"webhook-timestamp" doc:"When it was signed, in seconds since 1970; at most five minutes from now"`
	Signature string `header:"webhook-signature" doc:"v1, and the HMAC-SHA256 of id, time and body in base64; several by spaces"`
}

type delivered struct {
	Status int
	Body   DeliveryView
}

func (s *Server) deliver(ctx context.Context, in *deliveryInput) (*delivered, error) {
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	from, _ := ctx.Value(originKey{}).(origin)
	d := Delivery{Hook: in.Hook, Header: in.header, Body: in.body, At: now, By: job.HookPrincipal(in.Hook) + " from " + from.remote}
	v, created, err := s.back.Hooks.Deliver(ctx, d)
	var refusal *webhook.Refusal
	var secret *SecretError
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil, huma.Error404NotFound(fmt.Sprintf("there is no hook %q", in.Hook))
	case errors.As(err, &refusal):
		if skipped, line := s.refusals.next(from.remote); line {
			s.log.Warn("delivery refused", "hook", in.Hook, "remote", from.remote, "reason", refusal.Reason, "skipped", skipped)
		}
	case errors.As(err, &secret):
		if skipped, line := s.refusals.next(from.remote); line {
			s.log.Error("secret of a hook cannot be used", "hook", in.Hook, "err", secret.Cause, "skipped", skipped)
		}
	}
	return &delivered{statusOf(created), DeliveryView{v.Name()}}, err
}
