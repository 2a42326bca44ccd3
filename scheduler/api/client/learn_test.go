package client_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestLearnedServersAreAskedLast(t *testing.T) {
	list := func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, api.JobList{}) }
	other, _ := server(t, list)
	first, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(api.ReplicasHeader) != "" {
			w.Header().Set(api.ReplicasHeader, "127.0.0.1:1, "+strings.TrimPrefix(other, "http://")+",nonsense")
		}
		list(w, r)
	})

	var learned []string
	c := dial(t, client.Config{Servers: first, Learn: func(replicas []string) { learned = replicas }})
	if _, err := c.Jobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"http://127.0.0.1:1", other}; !slices.Equal(learned, want) {
		t.Fatalf("learned %q, want %q", learned, want)
	}

	down, moved := nobody(t), ""
	c = dial(t, client.Config{Servers: down, Known: learned, Moved: func(from, to string) { moved = from + " to " + to }})
	if _, err := c.Jobs(t.Context()); err != nil || moved != down+" to "+other || c.Answering() != other {
		t.Errorf("got %v, moved %q, and %s answers; want %s to answer instead of %s", err, moved, c.Answering(), other, down)
	}
	if _, _, err := c.Ready(t.Context()); err == nil {
		t.Error("the health of a server is that of another one")
	}
	if _, err := dial(t, client.Config{Servers: down}).Jobs(t.Context()); err == nil {
		t.Error("a client that knows no others gets an answer")
	}
}

func TestALearnedServerGetsTheTokenOfTheGivenOne(t *testing.T) {
	given := ""
	other, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		given = r.Header.Get("Authorization")
		answer(w, 200, api.JobList{})
	})
	down := nobody(t)
	c := dial(t, client.Config{Servers: down, Known: []string{other}, Token: func(_ context.Context, server string) (string, error) {
		if server == down {
			return "secret", nil
		}
		return "", nil
	}})
	if _, err := c.Jobs(t.Context()); err != nil || given != "Bearer secret" {
		t.Errorf("got %v with the token %q", err, given)
	}
}
