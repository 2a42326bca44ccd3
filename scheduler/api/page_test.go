package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// onlyBob knows one caller.
type onlyBob struct{}

func (onlyBob) Authenticate(r *http.Request) (auth.Caller, error) {
	if r.Header.Get("Authorization") == "" {
		return auth.Caller{}, nil
	}
	return auth.Caller{Identity: auth.Identity{Principal: "bob", Method: auth.ByToken}}, nil
}

// programs is a replica whose jobs with names that end in "-shell" run programs.
type programs struct{ Replica }

func (programs) Job(_ context.Context, name string) (JobView, error) {
	spec := &job.Spec{HTTP: &job.HTTP{}}
	if strings.HasSuffix(name, "-shell") {
		spec = &job.Spec{Shell: "true"}
	}
	return JobView{Job: job.Job{Name: name, Spec: spec}}, nil
}

// The author of some jobs creates a job on the page. Whether its name is in scope, the operation decides when it knows the name.
func TestAnAuthorWithAScopeMayOpenTheFormOfANewJob(t *testing.T) {
	back := Backend{Replica: programs{}, Schemas: map[string]json.RawMessage{
		"Spec": json.RawMessage("{}"), "LimitSpec": json.RawMessage("{}"),
	}}
	s := New(DefaultConfig(), back, hclog.NewNullLogger())
	for role, may := range map[auth.Role]bool{auth.Operator: false, auth.Author: true} {
		who := auth.Identity{Principal: "bob", Method: auth.ByToken}
		c := auth.Caller{Identity: who, Grants: auth.GrantsOf(who, nil, &auth.Token{Role: role, Jobs: []string{"in-*"}})}
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), provenKey{}, c), http.MethodGet, "/", http.NoBody)
		ops := &operations{s: s}
		if ops.May(r, "put-job", "") != may || ops.May(r, "put-job", "in-a") != may || ops.May(r, "put-job", "out-a") || ops.May(r, "put-job", "in-shell") || ops.May(r, "put-limit", "") {
			t.Errorf("%s: the form of a new job: got %v, want %v", role, ops.May(r, "put-job", ""), may)
		}
	}
}

func TestAPageNeedsASession(t *testing.T) {
	for _, tt := range []struct {
		name, method, proof string
		cfg                 Config
		status              int
		location            string
	}{
		{"a browser without a session", "GET", "", Config{Auth: onlyBob{}}, http.StatusSeeOther, "/login?next=%2Fruns%3Fjob%3Da"},
		{"a form without a session", "POST", "", Config{Auth: onlyBob{}}, http.StatusUnauthorized, ""},
		{"a caller that is known", "GET", "x", Config{Auth: onlyBob{}}, http.StatusOK, ""},
		{"refusals are only logged", "GET", "", Config{Auth: onlyBob{}, Observe: true}, http.StatusOK, ""},
		{"authentication is off", "POST", "", Config{}, http.StatusOK, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(tt.cfg, Backend{}, hclog.NewNullLogger())
			page := s.authenticate(s.signedIn(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
			r := httptest.NewRequestWithContext(t.Context(), tt.method, "/runs?job=a", http.NoBody)
			r.Header.Set("Authorization", tt.proof)
			w := httptest.NewRecorder()
			page.ServeHTTP(w, r)
			if w.Code != tt.status || w.Header().Get("Location") != tt.location {
				t.Errorf("got %d to %q, want %d to %q", w.Code, w.Header().Get("Location"), tt.status, tt.location)
			}
		})
	}
}
