package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/webhook"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// Deliver has one hook, deployed, which starts the job report.
func (f *fake) Deliver(ctx context.Context, d api.Delivery) (api.RunView, bool, error) {
	if err := f.fail(); err != nil {
		return api.RunView{}, false, err
	}
	switch d.Hook {
	case "deployed":
	case "broken":
		return api.RunView{}, false, &api.SecretError{Hook: d.Hook, Cause: errors.New("reference ${file:/run/secrets/x}: no such file")}
	default:
		return api.RunView{}, false, fmt.Errorf("hook %s: %w", d.Hook, job.ErrNotFound)
	}
	id, err := webhook.Verify(hookSecret, d.Header, d.Body, d.At)
	if err != nil {
		return api.RunView{}, false, err
	}
	params, err := webhook.Params(map[string]string{"env": "{{ .Body.environment }}"}, id, d.Body)
	if err != nil {
		return api.RunView{}, false, err
	}
	if params["env"] == "test" {
		return api.RunView{}, false, &api.Invalid{Errors: []api.FieldError{{Field: "params.env", Message: "parameter env must be one of stage, prod"}}}
	}
	return f.Submit(ctx, api.Submission{Job: "report", Kind: job.KindManual, Asked: d.At, Due: d.At, Key: id, Params: params, By: d.By, Hook: d.Hook})
}

// signedBy returns the headers of a delivery, for ask.
func signedBy(t *testing.T, secret, id string, at time.Time, body string) []string {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := w.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"webhook-id", id, "webhook-timestamp", strconv.FormatInt(at.Unix(), 10), "webhook-signature", signature}
}

// A signature is the only proof that a hook needs.
func TestHooksNeedOnlyASignature(t *testing.T) {
	f := newFake()
	back := f.backend()
	var author job.Author
	var verb string
	back.Audited = func(ctx context.Context, by job.Author, v string) context.Context {
		author, verb = by, v
		return ctx
	}
	srv := serve(t, back, func(c *api.Config) { c.Auth = &bearer{} })
	if a := ask(t, srv, "POST", "/v1/jobs/report/runs", ""); a.status != 401 {
		t.Fatalf("without a token: got %d, want 401", a.status)
	}
	const body = `{"environment": "prod"}`
	first := ask(t, srv, "POST", "/v1/hooks/deployed", body, signedBy(t, hookSecret, "msg_1", time.Now(), body)...)
	if v := decode[api.DeliveryView](t, first); first.status != 201 || !strings.HasPrefix(v.Ref, "report/") {
		t.Fatalf("got %d %s, want a run", first.status, first.text)
	}
	if strings.Contains(first.text, "spec") || strings.Contains(first.text, "params") {
		t.Errorf("the sender reads the run: %s", first.text)
	}
	if f.asked.By != "hook/deployed from 127.0.0.1" || f.asked.Params["env"] != "prod" {
		t.Errorf("submitted %+v", f.asked)
	}
	if author.Principal != "hook/deployed" || author.How != "signature" || verb != "deliver-hook" || author.Remote != "127.0.0.1" {
		t.Errorf("audited as %+v, %s", author, verb)
	}
	again := ask(t, srv, "POST", "/v1/hooks/deployed", body, signedBy(t, hookSecret, "msg_1", time.Now().Add(time.Second), body)...)
	if again.status != 200 || decode[api.DeliveryView](t, again) != decode[api.DeliveryView](t, first) {
		t.Errorf("again: got %d %s, want 200 and the same run", again.status, again.text)
	}
	form := ask(t, srv, "POST", "/v1/hooks/deployed", body,
		append(signedBy(t, hookSecret, "msg_2", time.Now(), body), "Content-Type", "application/x-www-form-urlencoded")...)
	if form.status != 201 {
		t.Errorf("another content type: got %d %s", form.status, form.text)
	}
}

// Each mistake has its own answer, and none makes a run.
func TestRefusedDeliveries(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend())
	const body, other = `{"environment": "prod"}`, "whsec_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	now := time.Now()
	large := `{"environment": "prod", "x": "` + strings.Repeat("x", api.MaxBody) + `"}`
	for name, tc := range map[string]struct {
		hook, body string
		headers    []string
		status     int
		detail     string
	}{
		"a wrong signature":          {"deployed", body, signedBy(t, other, "m", now, body), 401, "the signature is wrong"},
		"an old timestamp":           {"deployed", body, signedBy(t, hookSecret, "m", now.Add(-6*time.Minute), body), 403, "old, and at most 5m0s are accepted"},
		"a future timestamp":         {"deployed", body, signedBy(t, hookSecret, "m", now.Add(6*time.Minute), body), 403, "ahead"},
		"no signature":               {"deployed", body, nil, 400, "webhook-id is missing"},
		"no parameter":               {"deployed", "{}", signedBy(t, hookSecret, "m", now, "{}"), 422, "parameter env: "},
		"a body that is no JSON":     {"deployed", "env=prod", signedBy(t, hookSecret, "m", now, "env=prod"), 422, "the body is no JSON"},
		"an empty body":              {"deployed", "", signedBy(t, hookSecret, "m", now, ""), 422, "the body is no JSON"},
		"a bad parameter":            {"deployed", `{"environment":"test"}`, signedBy(t, hookSecret, "m", now, `{"environment":"test"}`), 422, "must be one of"},
		"an unknown hook":            {"deploed", body, signedBy(t, hookSecret, "m", now, body), 404, `there is no hook \"deploed\"`},
		"a large body":               {"deployed", large, signedBy(t, hookSecret, "m", now, large), 413, "more than 1048576 bytes"},
		"a secret that is not there": {"broken", body, signedBy(t, hookSecret, "m", now, body), 503, "its log has the cause"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(f.runs)
			a := ask(t, srv, "POST", "/v1/hooks/"+tc.hook, tc.body, tc.headers...)
			if a.status != tc.status || !strings.Contains(a.text, tc.detail) || strings.Contains(a.text, "/run/secrets") {
				t.Errorf("got %d %s, want %d with %s", a.status, a.text, tc.status, tc.detail)
			}
			a.problem(t)
			if len(f.runs) != before {
				t.Error("it made a run")
			}
		})
	}
}

// A stranger needs no token to send deliveries. They must not fill the disk with lines.
func TestRefusedDeliveriesDoNotFillTheLog(t *testing.T) {
	for hook, line := range map[string]string{"deployed": "delivery refused", "broken": "secret of a hook cannot be used"} {
		var log bytes.Buffer
		handler := api.New(api.DefaultConfig(), newFake().backend(), hclog.New(&hclog.LoggerOptions{Output: &log})).Handler()
		for range 300 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/hooks/"+hook, strings.NewReader("{}"))
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code < 400 {
				t.Fatalf("%s: got %d", hook, w.Code)
			}
		}
		if got := strings.Count(log.String(), line); got < 50 || got > 60 {
			t.Errorf("%s: 300 refused deliveries wrote %d lines", hook, got)
		}
	}
}
