package send_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

func signal(service job.PingService, state job.PingState, run string) notify.Message {
	return notify.Message{Signal: &notify.Signal{Service: service, State: state, Run: run, Text: "run a/1: x"}}
}

func TestPingsHaveTheFormOfTheirService(t *testing.T) {
	host, got := hook(t, http.StatusOK)
	t.Setenv("ROTA_TEST_CHECK", "t0ken")
	s := services(t)
	for _, tt := range []struct {
		service job.PingService
		state   job.PingState
		run     string
		want    string // empty: no request
	}{
		{"", job.PingStart, "a/1", "POST /t0ken/start?k=v&rid="},
		{"", job.PingSuccess, "a/1", "POST /t0ken?k=v&rid="},
		{job.Healthchecks, job.PingFailure, "a/1", "POST /t0ken/fail?k=v&rid="},
		{job.Healthchecks, job.PingSuccess, "", "POST /t0ken?k=v"},
		{job.Cronitor, job.PingStart, "a/1", "GET /t0ken?k=v&message=run+a%2F1%3A+x&series=a%2F1&state=run"},
		{job.Cronitor, job.PingFailure, "a/1", "GET /t0ken?k=v&message=run+a%2F1%3A+x&series=a%2F1&state=fail"},
		{job.DeadMansSnitch, job.PingStart, "a/1", ""},
		{job.DeadMansSnitch, job.PingSuccess, "a/1", "GET /t0ken?k=v&m=run+a%2F1%3A+x"},
		{job.DeadMansSnitch, job.PingFailure, "a/1", "GET /t0ken?k=v&m=run+a%2F1%3A+x&s=1"},
		{job.UptimeKuma, job.PingFailure, "a/1", "GET /t0ken?k=v&msg=run+a%2F1%3A+x&status=down"},
	} {
		if err := s.Send(t.Context(), "http://"+host+"/${env:ROTA_TEST_CHECK}?k=v", signal(tt.service, tt.state, tt.run)); err != nil {
			t.Fatal(err)
		}
		if tt.want == "" {
			if len(got) > 0 {
				t.Errorf("%s %s sent %v", tt.service, tt.state, <-got)
			}
			continue
		}
		r := <-got
		if text := r.method + " " + r.path; !strings.HasPrefix(text, tt.want) || !strings.HasSuffix(tt.want, "=") && text != tt.want {
			t.Errorf("%s %s sent %s, want %s", tt.service, tt.state, text, tt.want)
		}
	}
}

func TestPingsKeepToTheGuard(t *testing.T) {
	host, got := hook(t, http.StatusOK)
	s := guarded(t, send.ServicesConfig{Reach: dial.New(dial.Config{Setting: "notify.http"}, nil)})
	err := s.Send(t.Context(), "http://"+host+"/s3cret-check", signal("", job.PingSuccess, "a/1"))
	if err == nil || !strings.Contains(err.Error(), "loopback") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	if len(got) > 0 {
		t.Error("the ping was sent")
	}
}

func TestARefusedPingIsAnError(t *testing.T) {
	host, _ := hook(t, http.StatusFound)
	if err := services(t).Send(t.Context(), "http://"+host+"/x", signal("", job.PingSuccess, "a/1")); err == nil {
		t.Error("no error")
	}
}

// net/http does not close a connection that has changed its protocol when the context ends.
func TestAChangedProtocolEndsThePing(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the sender closes the connection
	}))
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- services(t).Send(ctx, srv.URL+"/x", signal("", job.PingSuccess, "a/1")) }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "101") {
			t.Errorf("got %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the ping does not end")
	}
}

// While a service does not answer, the latest pings wait, and older ones are dropped. All of them are done in the end.
func TestOldPingsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(2 * time.Minute)
		w := newWire(func(context.Context, string) error {
			if time.Now().Before(back) {
				return errors.New("down")
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		qs := send.NewQueues(send.PingConfig(), w, w, hclog.NewNullLogger())
		var done atomic.Int32
		for i := range 50 {
			qs.Post(ctx, "Ping", "https://check", send.Item{
				Message: func(context.Context) notify.Message { return notify.Message{Title: strconv.Itoa(i)} },
				Done:    func() { done.Add(1) },
			})
			synctest.Wait()
		}
		time.Sleep(10 * time.Minute)
		cancel()
		qs.Wait()
		titles := w.titles("https://check")
		if len(titles) != 21 || titles[0] != "0" || titles[1] != "30" || titles[20] != "49" {
			t.Errorf("sent %v", titles)
		}
		if done.Load() != 50 || w.counted(send.Dropped) != 29 {
			t.Errorf("%d are done, %d dropped", done.Load(), w.counted(send.Dropped))
		}
	})
}
