package api_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// porter counts how often it is asked about an open stream.
type porter struct {
	*doorman

	asked atomic.Int64
}

func (p *porter) Authenticate(r *http.Request) (auth.Caller, error) {
	if api.IsRecheck(r.Context()) {
		defer p.asked.Add(1)
	}
	return p.doorman.Authenticate(r)
}

// endless returns output that never comes, until its reader closes it.
func endless(context.Context, bool) (io.ReadCloser, error) {
	r, _ := io.Pipe()
	return r, nil
}

func TestAStreamEndsWithTheProofOfItsCaller(t *testing.T) {
	for _, path := range []string{"/v1/events", "/v1/live", "/v1/runs/in-shell/r/logs?follow=true"} {
		for name, end := range map[string]func(p *porter, key auth.Key){
			"the session ends": func(p *porter, key auth.Key) { _ = p.SignOut(t.Context(), key) },
			"a right is taken": func(p *porter, _ auth.Key) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.File.Bindings = []auth.Binding{{Principal: "bob", Role: auth.Viewer, Jobs: []string{"in-*"}}}
			},
		} {
			t.Run(path+" after "+name, func(t *testing.T) {
				p := &porter{doorman: newDoorman()}
				p.File.Bindings = []auth.Binding{{Principal: "bob", Role: auth.Viewer}}
				key, err := p.SignIn(t.Context(), auth.Caller{Identity: auth.Identity{Principal: "bob", Method: auth.ByOIDC}})
				if err != nil {
					t.Fatal(err)
				}
				p.OpenID = true
				f := guarded()
				f.putRun(job.Run{Job: "in-shell", ID: "r"})
				f.output["in-shell/r"] = endless
				srv := serve(t, f.backend(), func(c *api.Config) { c.Auth, c.Recheck = p, 10*time.Millisecond })

				ended := make(chan error, 1)
				res, _ := open(t, srv.URL+path, "Authorization", api.SessionScheme+string(key))
				go func() {
					_, err := io.Copy(io.Discard, res.Body)
					ended <- err
				}()
				until(t, "several checks", func() bool { return p.asked.Load() > 5 })
				select {
				case err := <-ended:
					t.Fatalf("the stream ended while its session was valid: %v", err)
				default:
				}
				end(p, key)
				select {
				case <-ended:
				case <-time.After(20 * time.Second):
					t.Fatal("the stream goes on")
				}
			})
		}
	}
}

// open begins a request whose answer has no end. headers are pairs of name and value. hangUp ends the request.
func open(t *testing.T, address string, headers ...string) (res *http.Response, hangUp func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	if res, err = http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatalf("got %s", res.Status)
	}
	return res, cancel
}
