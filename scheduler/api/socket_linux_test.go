package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestTheUserOfTheProcessIsAdminOnItsSocket(t *testing.T) {
	d := newDoorman()
	viewer := d.give(t, auth.Viewer)
	cfg := api.DefaultConfig()
	cfg.Auth, cfg.Sessions = d, d
	path := filepath.Join(t.TempDir(), "s")
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := api.New(cfg, guarded().backend(), hclog.NewNullLogger())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, tcp, socket) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()

	cl, err := client.New(client.Config{Servers: "unix://" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	paused, err := cl.PauseJob(t.Context(), "in-http", "")
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if want := me.Username + " from socket"; paused.Paused == nil || paused.Paused.By != want {
		got, _ := json.Marshal(paused.Paused)
		t.Errorf("the pause is by %s, want %s", got, want)
	}
	if _, _, err := cl.Ready(t.Context()); err != nil {
		t.Errorf("a probe over the socket: %v", err)
	}

	over := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", path)
	}}}
	ask := func(token string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/pause", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := over.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	if status, text := ask(""); status != http.StatusOK {
		t.Errorf("an admin pauses all jobs: got %d %s", status, text)
	}
	if status, text := ask(viewer); status != http.StatusForbidden {
		t.Errorf("a token on the socket has its own rights alone: got %d %s", status, text)
	}
	if status, _ := ask("rota_wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong token on the socket: got %d, want 401", status)
	}
}
