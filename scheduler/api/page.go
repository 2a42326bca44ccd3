package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// Operations performs operations of the API for the page, in this process. It acts for the client of a request: the operation
// checks the rights and the scope of that client, as for a request over the network. So the page has no power of its own.
type Operations interface {
	// Do performs an operation for the client of r, and decodes the answer into out, which may be nil. It returns *Problem if the
	// operation refuses. body nil means no body. A *bytes.Buffer as out gets the bytes of the answer.
	Do(r *http.Request, method, target string, header http.Header, body, out any) error
	// May reports whether the client of r has the right that an operation declares, for a job. "" stands for the cluster, or for any
	// job if the right is one about jobs. To change a job that runs a program, the client needs the right for programs.
	May(r *http.Request, operation, job string) bool
	// Decides reports whether the client of r is one of those who decide about a run, by the rule of the run. An empty list names
	// everybody with the right.
	Decides(r *http.Request, by []string) bool
	// Cluster returns the state of the cluster, which all pages share.
	Cluster(r *http.Request) (ClusterView, error)
	// Caller returns the name of the client of r; "" while authentication is off.
	Caller(r *http.Request) string
	// Revision returns the revision up to which the answers of this process are complete. A page reads it before its data. Then the
	// stream of changes after it misses nothing.
	Revision() int64
	// Now returns the time by the clock of the replica.
	Now() time.Time
}

// Problem is the refusal of an operation.
type Problem struct {
	Status int
	Detail string
	Fields []FieldError // mistakes in single fields of the request
}

func (p *Problem) Error() string { return p.Detail }

// operations implements Operations.
type operations struct {
	s  *Server
	v1 http.Handler
}

func (o *operations) Do(r *http.Request, method, target string, header http.Header, body, out any) error {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("parse %s: %w", target, err)
	}
	inner := r.Clone(r.Context())
	inner.Method, inner.URL, inner.RequestURI, inner.Form, inner.PostForm = method, u, target, nil, nil
	inner.Header = header.Clone()
	if inner.Header == nil {
		inner.Header = http.Header{}
	}
	inner.Header.Set("User-Agent", r.UserAgent())
	inner.Body, inner.ContentLength = http.NoBody, 0
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		inner.Header.Set("Content-Type", "application/json")
		inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	w := &kept{header: http.Header{}}
	w.serve(o.v1, inner)
	if w.status >= http.StatusBadRequest {
		return w.problem()
	}
	if buffer, ok := out.(*bytes.Buffer); ok {
		*buffer = w.body
		return nil
	}
	if out == nil || w.body.Len() == 0 {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("decode the answer of %s %s: %w", method, u.Path, err)
	}
	return nil
}

func (o *operations) May(r *http.Request, operation, job string) bool {
	right, known := o.s.rights[operation]
	if !known {
		return false // this process does not serve it
	}
	if o.s.cfg.Observe {
		return true
	}
	c := proven(r.Context())
	if job == "" && (right == auth.Read || right == auth.Operate || right == auth.Define) {
		return c.Any(right)
	}
	on := o.s.object(job)
	if right != auth.Define || c.May(auth.DefineCommand, on) || !c.May(right, on) {
		return c.May(right, on)
	}
	v, err := o.s.back.Replica.Job(r.Context(), job)
	return err != nil || !executes(v.Spec) // after an error, the operation says what is wrong
}

func (o *operations) Decides(r *http.Request, by []string) bool {
	return o.s.cfg.Observe || o.s.named(r.Context(), by) == nil
}

func (o *operations) Cluster(r *http.Request) (ClusterView, error) {
	v, err := o.s.sharedCluster(r.Context())
	if sees := o.s.sees(r.Context()); sees != nil {
		v = onlyVisible(v, sees)
	}
	return v, err
}

func (o *operations) Caller(r *http.Request) string { return proven(r.Context()).Principal }

func (o *operations) Revision() int64 {
	if o.s.back.Overview == nil {
		return 0
	}
	rev, _, _, _ := o.s.back.Overview.Changed(math.MaxInt64) //nolint:dogsled // only the revision is needed
	return rev
}

func (o *operations) Now() time.Time { return o.s.present() }

// keptBytes is how much of an answer is kept: the end of it. Only output of attempts is longer.
const keptBytes = 256 << 10

// kept keeps the answer of an operation in memory.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// serve runs a handler. Its panic with http.ErrAbortHandler means that the answer is incomplete.
func (k *kept) serve(h http.Handler, r *http.Request) {
	defer func() {
		if p := recover(); p != nil && !isAbort(p) {
			panic(p)
		}
	}()
	h.ServeHTTP(k, r)
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *kept) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	k.body.Write(b)
	if strings.HasPrefix(k.header.Get("Content-Type"), "text/plain") && k.body.Len() > 2*keptBytes {
		k.body.Next(k.body.Len() - keptBytes)
	}
	return len(b), nil
}

// Flush implements http.Flusher, for streams.
func (k *kept) Flush() {}

// problem converts the answer into a *Problem.
func (k *kept) problem() error {
	var m huma.ErrorModel
	if err := json.Unmarshal(k.body.Bytes(), &m); err != nil || m.Detail == "" {
		return &Problem{Status: k.status, Detail: http.StatusText(k.status)}
	}
	p := &Problem{Status: k.status, Detail: m.Detail}
	for _, e := range m.Errors {
		p.Fields = append(p.Fields, FieldError{Field: strings.TrimPrefix(e.Location, "body."), Message: e.Message})
	}
	return p
}
