package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestFallback(t *testing.T) {
	good := func(w http.ResponseWriter, r *http.Request) {
		status := 200
		if r.Method == http.MethodPost {
			status = 201
		}
		answer(w, status, map[string]any{"run": "backup/b"})
	}
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	cutOff := func(status int, kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, `{"job`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	half, halfProblem := cutOff(200, "application/json"), cutOff(404, "application/problem+json")
	nonsense := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"job`)
	}
	read := func(c *client.Client) error { _, err := c.Jobs(context.Background()); return err }
	submit := func(c *client.Client) error {
		_, _, err := c.Submit(context.Background(), "backup", api.RunRequest{})
		return err
	}
	submitKey := func(c *client.Client) error {
		_, _, err := c.Submit(context.Background(), "backup", api.RunRequest{Key: "k"})
		return err
	}
	for _, tc := range []struct {
		name  string
		first http.HandlerFunc // nil: no process listens
		do    func(*client.Client) error
		asks  bool // whether the client calls the second server
	}{
		{"a read goes on past nobody", nil, read, true},
		{"a read goes on past a broken connection", abort, read, true},
		{"a read goes on past half an answer", half, read, true},
		{"a read goes on past half a refusal", halfProblem, read, true},
		{"a read does not go on past a whole answer that is no JSON", nonsense, read, false},
		{"a read goes on past 503", refuse(503, "x"), read, true},
		{"a read does not go on past 404", refuse(404, "x"), read, false},
		{"a change goes on past nobody", nil, submit, true},
		{"a change does not go on past a broken connection", abort, submit, false},
		{"a change does not go on past half an answer", half, submit, false},
		{"a change does not go on past 503", refuse(503, "x"), submit, false},
		{"a change with a key goes on past a broken connection", abort, submitKey, true},
		{"a change with a key goes on past half an answer", half, submitKey, true},
		{"a change with a key goes on past 503", refuse(503, "x"), submitKey, true},
		{"a change with a key does not go on past 409", refuse(409, "x"), submitKey, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first := nobody(t)
			if tc.first != nil {
				first, _ = server(t, tc.first)
			}
			second, asked := server(t, good)
			err := tc.do(dial(t, client.Config{Servers: first + "," + second}))
			if (err == nil) != tc.asks || (asked.Load() > 0) != tc.asks {
				t.Errorf("got %v and %d requests to the second server, want it asked: %t", err, asked.Load(), tc.asks)
			}
		})
	}
	t.Run("the server that answered is asked first from then on", func(t *testing.T) {
		first, asked := server(t, refuse(503, "x"))
		second, _ := server(t, good)
		c := dial(t, client.Config{Servers: first + "," + second})
		for range 3 {
			if err := read(c); err != nil {
				t.Fatal(err)
			}
		}
		if got := asked.Load(); got != 1 {
			t.Errorf("the bad one was asked %d times, want once", got)
		}
	})
	t.Run("a change goes to a server that is alive, and not to one that hangs", func(t *testing.T) {
		hangs, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, but no process answers
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hangs.Close() })
		second, asked := server(t, good)
		c := dial(t, client.Config{Servers: hangs.Addr().String() + "," + second})
		if err := submit(c); err != nil || asked.Load() != 1 {
			t.Errorf("got %v and %d requests to the second server, want one", err, asked.Load())
		}
	})
	t.Run("a server's words are worth more than silence", func(t *testing.T) {
		bad, _ := server(t, refuse(503, "the store is away"))
		err := read(dial(t, client.Config{Servers: nobody(t) + "," + bad}))
		if err == nil || err.Error() != "the store is away" {
			t.Errorf("got %v, want the server's words", err)
		}
	})
	t.Run("a lost change says that it may have happened", func(t *testing.T) {
		for name, lost := range map[string]http.HandlerFunc{"no answer": abort, "half an answer": half} {
			first, _ := server(t, lost)
			err := submit(dial(t, client.Config{Servers: first}))
			if !errors.Is(err, api.ErrUnavailable) || !strings.Contains(err.Error(), "unknown") {
				t.Errorf("%s: got %v, want ErrUnavailable with a warning", name, err)
			}
		}
	})
	t.Run("half an answer is no failure that lasts", func(t *testing.T) {
		first, _ := server(t, half)
		if err := read(dial(t, client.Config{Servers: first})); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
	})
}
