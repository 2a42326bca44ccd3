package send_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"

	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

// request is a request to a webhook.
type request struct {
	method, path, body string
	header             http.Header
}

// hook starts a webhook that answers with a status. With status 0 it hangs.
func hook(t *testing.T, status int) (host string, got chan request) {
	t.Helper()
	got = make(chan request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Method, r.URL.RequestURI(), string(body), r.Header}
		if status == 0 {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return strings.TrimPrefix(server.URL, "http://"), got
}

var message = notify.Message{Title: "rota: job a failed", Body: "run: a/1\nstate: failed"}

func services(t *testing.T) *send.Services {
	return guarded(t, send.ServicesConfig{})
}

func guarded(t *testing.T, cfg send.ServicesConfig) *send.Services {
	s := send.NewServices(cfg)
	t.Cleanup(s.Close)
	return s
}

func TestATemplateMakesTheBodyOfAWebhook(t *testing.T) {
	host, got := hook(t, http.StatusNoContent)
	s, m := services(t), message
	for _, tt := range []struct{ template, query, body, contentType string }{
		{`{"text": {{ json .Title }}}`, "", `{"text": "rota: job a failed"}`, "application/json"},
		{"{{ .Title }}!", "", "rota: job a failed!", "text/plain; charset=utf-8"},
		{"<b>{{ .Title }}</b>", "?@Content-Type=text/html", "<b>rota: job a failed</b>", "text/html"},
		{"{{ slice .Job 0 9 }}", "", m.Text() + "\nthe template failed: ", "text/plain; charset=utf-8"},
	} {
		m.Template = tt.template
		if err := s.Send(t.Context(), "generic+http://"+host+"/"+tt.query, m); err != nil {
			t.Fatal(err)
		}
		r := <-got
		if !strings.HasPrefix(r.body, tt.body) || r.header.Get("Content-Type") != tt.contentType {
			t.Errorf("%s: got %s as %s", tt.template, r.body, r.header.Get("Content-Type"))
		}
	}
}

func TestWebhook(t *testing.T) {
	host, got := hook(t, http.StatusNoContent)
	t.Setenv("ROTA_TEST_HOOK", "s3cret-token")
	s := services(t)
	if err := s.Send(t.Context(), "generic+http://"+host+"/hook/${env:ROTA_TEST_HOOK}?x=1", message); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.method != "POST" || r.path != "/hook/s3cret-token?x=1" || r.body != message.Text() || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %+v", r)
	}
	if err := s.Send(t.Context(), "generic://"+host+"/?disabletls=yes&template=json&@X-Key=${env:ROTA_TEST_HOOK}&$cluster=one", message); err != nil {
		t.Fatal(err)
	}
	r = <-got
	var body map[string]string
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		t.Fatal(err)
	}
	if body["title"] != message.Title || body["message"] != message.Body || body["cluster"] != "one" {
		t.Errorf("got %v", body)
	}
	if r.header.Get("X-Key") != "s3cret-token" || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("got header %v", r.header)
	}
}

// Errors are logged, so no error may contain a secret.
func TestErrorsContainNoSecret(t *testing.T) {
	t.Setenv("ROTA_TEST_HOOK", "s3cret/to ken")
	refusing, _ := hook(t, http.StatusForbidden)
	moved, _ := hook(t, http.StatusFound)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	s := services(t)
	for name, tt := range map[string]struct{ url, want string }{
		"refused":            {"generic+http://user:passw0rd@" + refusing + "/s3cret-path?key=hidden", "answer is 403"},
		"moved":              {"generic+http://" + moved + "/s3cret-path", "answer is 302"},
		"nothing listens":    {"generic+http://" + gone.Addr().String() + "/s3cret-path?key=hidden", "connection refused"},
		"reference":          {"generic+http://" + gone.Addr().String() + "/${env:ROTA_TEST_HOOK}", ""},
		"missing reference":  {"slack://${env:ROTA_TEST_MISSING}", "variable is not set"},
		"whole reference":    {"${env:ROTA_TEST_HOOK}", "no known scheme"},
		"service":            {"slack://s3cret-token-of-no-form", ""},
		"library":            {"ntfy://user:passw0rd@" + gone.Addr().String() + "/s3cret-path?scheme=http", ""},
		"chat in the path":   {"telegram://s3cret@telegram?chats=hidden", ""},
		"bad key":            {"generic+http://" + refusing + "/s3cret-path?template=hidden", ""},
		"nothing to connect": {"gotify://" + gone.Addr().String() + "/s3cret-path?disabletls=yes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Send(t.Context(), tt.url, message)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			for _, secret := range []string{"s3cret", "passw0rd", "hidden", "to ken", "to%20ken", "to+ken"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error contains %s: %v", secret, err)
				}
			}
			t.Log(err)
		})
	}
}

// Send returns when its context ends, even if the service hangs.
func TestHangingServiceIsAbandoned(t *testing.T) {
	host, got := hook(t, 0)
	for name, url := range map[string]string{
		"webhook": "generic+http://" + host + "/",
		"library": "ntfy://" + host + "/topic?scheme=http",
	} {
		t.Run(name, func(t *testing.T) {
			s := services(t)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			stop := context.AfterFunc(ctx, func() { t.Error("the service got no request") })
			go func() { <-got; stop(); cancel() }() // ends with the request
			if err := s.Send(ctx, url, message); err == nil {
				t.Error("no error")
			}
		})
	}
}

// A server that accepts connections and never answers does not delay other services.
func TestHangingServiceDelaysOnlyItself(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	host, got := hook(t, http.StatusOK)
	s := services(t)
	url := "smtp://" + silent.Addr().String() + "/?from=a@x&to=b@x&usestarttls=no&encryption=none"
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := s.Send(ctx, url, message); err == nil {
			t.Error("a server that never answers took a mail")
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err = s.Send(ctx, "ntfy://"+host+"/topic?scheme=http", message)
	select {
	case <-got: // the result does not matter
	case <-ctx.Done():
		t.Errorf("another service got no request: %v", err)
	}
}

// The schemes are the same as the library's, except logger, which only prints.
func TestSchemesMatchTheLibrary(t *testing.T) {
	want := (&router.ServiceRouter{}).ListServices()
	want = slices.DeleteFunc(want, func(s string) bool { return s == "logger" })
	slices.Sort(want)
	if got := notify.Schemes(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
