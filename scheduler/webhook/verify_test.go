package webhook_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rota-scheduler/rota/scheduler/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var now = time.Unix(1_674_087_231, 0)

// signed returns the headers of a delivery that is signed with each of the secrets.
func signed(t *testing.T, id string, at time.Time, body string, secrets ...string) http.Header {
	t.Helper()
	var signatures []string
	for _, secret := range secrets {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		one, err := w.Sign(id, at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, one)
	}
	return http.Header{
		"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {strings.Join(signatures, " ")},
	}
}

func with(h http.Header, name string, values ...string) http.Header {
	h = h.Clone()
	delete(h, name)
	if len(values) > 0 {
		h[name] = values
	}
	return h
}

// The signature is the one in the text of Standard Webhooks, so another program can have made it.
func TestVerifyTheExampleOfTheStandard(t *testing.T) {
	header := http.Header{}
	header.Set("Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("Webhook-Timestamp", "1614265330")
	header.Set("Webhook-Signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	id, err := webhook.Verify(secret, header, []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0))
	if err != nil || id != "msg_p5jXN8AQM9LWM0D4loKWxJek" {
		t.Errorf("got %q, %v, want the id", id, err)
	}
}

func TestVerify(t *testing.T) {
	const body = `{"environment": "prod"}`
	old := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret of 24 byt"))
	good := signed(t, "msg_1", now, body, secret)
	for name, tc := range map[string]struct {
		header http.Header
		status int // 0: accepted
		reason string
	}{
		"a good delivery":                  {good, 0, ""},
		"one of several signatures":        {signed(t, "msg_1", now, body, old, secret), 0, ""},
		"an unknown version beside":        {with(good, "Webhook-Signature", "v1a,xyz "+good.Get("Webhook-Signature")), 0, ""},
		"as old as allowed":                {signed(t, "msg_1", now.Add(-webhook.Tolerance), body, secret), 0, ""},
		"as far ahead as allowed":          {signed(t, "msg_1", now.Add(webhook.Tolerance), body, secret), 0, ""},
		"another secret":                   {signed(t, "msg_1", now, body, old), 401, "the signature is wrong"},
		"another body":                     {signed(t, "msg_1", now, body+" ", secret), 401, "the signature is wrong"},
		"another id":                       {with(good, "Webhook-Id", "msg_2"), 401, "the signature is wrong"},
		"another time":                     {with(good, "Webhook-Timestamp", strconv.FormatInt(now.Unix()+1, 10)), 401, "the signature is wrong"},
		"only an unknown version":          {with(good, "Webhook-Signature", "v2,"+good.Get("Webhook-Signature")[3:]), 401, "the signature is wrong"},
		"a cut signature":                  {with(good, "Webhook-Signature", good.Get("Webhook-Signature")[:10]), 401, "the signature is wrong"},
		"too old":                          {signed(t, "msg_1", now.Add(-webhook.Tolerance-time.Second), body, secret), 403, "is 5m1s old"},
		"too far ahead":                    {signed(t, "msg_1", now.Add(webhook.Tolerance+time.Second), body, secret), 403, "is 5m1s ahead"},
		"old, with a wrong signature":      {signed(t, "msg_1", now.Add(-time.Hour), body, old), 401, "the signature is wrong"},
		"no id":                            {with(good, "Webhook-Id"), 400, "webhook-id is missing"},
		"no time":                          {with(good, "Webhook-Timestamp"), 400, "webhook-timestamp is missing"},
		"no signature":                     {with(good, "Webhook-Signature", ""), 400, "webhook-signature is missing"},
		"two ids":                          {with(good, "Webhook-Id", "msg_1", "msg_2"), 400, "webhook-id is given twice"},
		"a time that is none":              {with(good, "Webhook-Timestamp", "today"), 400, "is no time"},
		"an id with a full stop":           {signed(t, "msg.1", now, body, secret), 400, "full stops"},
		"an id with a control character":   {signed(t, "msg\n1", now, body, secret), 400, "bad character"},
		"an id that is longer than a name": {signed(t, strings.Repeat("m", webhook.MaxID+1), now, body, secret), 400, "129 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := webhook.Verify(secret, tc.header, []byte(body), now)
			refusal, _ := errors.AsType[*webhook.Refusal](err)
			switch {
			case tc.status == 0 && (err != nil || id != "msg_1"):
				t.Errorf("got %q, %v, want the id", id, err)
			case tc.status != 0 && (refusal == nil || refusal.Status != tc.status || !strings.Contains(refusal.Reason, tc.reason)):
				t.Errorf("got %q, %+v, want %d with %q", id, err, tc.status, tc.reason)
			case tc.status != 0 && id != "":
				t.Errorf("a refused delivery has the id %q", id)
			}
		})
	}
}

// A secret that cannot be used is a mistake of the operator. The sender may try again.
func TestUnusableSecrets(t *testing.T) {
	for _, bad := range []string{"", "whsec_", "n*t base64", "whsec_c2hvcnQ="} {
		_, err := webhook.Verify(bad, signed(t, "m", now, "{}", secret), []byte("{}"), now)
		if !errors.Is(err, webhook.ErrSecret) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: got %v, want an error without the secret", bad, err)
		}
	}
	if _, err := webhook.Verify(secret[6:]+"\n", signed(t, "m", now, "{}", secret), []byte("{}"), now); err != nil {
		t.Errorf("without its prefix: %v", err)
	}
}
