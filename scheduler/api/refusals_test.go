package api_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestRefusalsDoNotFillTheLog(t *testing.T) {
	var log bytes.Buffer
	cfg := api.DefaultConfig()
	d := newDoorman()
	cfg.Auth, cfg.Sessions = d, d
	handler := api.New(cfg, guarded().backend(), hclog.New(&hclog.LoggerOptions{Output: &log})).Handler()
	ask := func(remote string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/jobs", nil)
		r.RemoteAddr = remote
		r.Header.Set("Authorization", "Bearer rota_wrong")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
			t.Fatalf("got %d, want 401", w.Code)
		}
	}
	for range 1000 {
		ask("192.0.2.1:1")
	}
	if got := strings.Count(log.String(), "wrong proof"); got < 50 || got > 60 {
		t.Errorf("1000 refusals of one client wrote %d lines", got)
	}
	log.Reset()
	if ask("192.0.2.2:1"); strings.Count(log.String(), "wrong proof") != 1 {
		t.Error("the refusal of another client has no line")
	}
}
