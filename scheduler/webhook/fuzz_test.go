package webhook_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rota-scheduler/rota/scheduler/webhook"
)

// FuzzVerify sends any headers. A delivery counts as genuine only if its sender has the secret. The id of a genuine one can be part
// of a key.
func FuzzVerify(f *testing.F) {
	const signed = `{"a": 1}`
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		f.Fatal(err)
	}
	genuine, err := hook.Sign("msg_1", now, []byte(signed))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("msg_1", "1674087231", genuine, signed)
	f.Add("msg_1", "1674087231", "v1,AAAA v1a,x "+genuine, signed)
	f.Add("msg.1", "-1", "v1,", "")
	f.Add("", "99999999999999999999", "v1", "{")
	f.Fuzz(func(t *testing.T, id, at, signature, body string) {
		header := http.Header{
			webhook.IDHeader: {id}, webhook.TimestampHeader: {at}, webhook.SignatureHeader: {signature},
		}
		for name, values := range header { // the names are in the form that a server has read
			delete(header, name)
			header[http.CanonicalHeaderKey(name)] = values
		}
		got, err := webhook.Verify(secret, header, []byte(body), now)
		if err != nil {
			if refusal, ok := errors.AsType[*webhook.Refusal](err); !ok || refusal.Status < 400 || refusal.Status > 499 {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if seconds, err := strconv.ParseInt(at, 10, 64); err != nil || seconds != now.Unix() || got != id || id != "msg_1" || body != signed {
			t.Errorf("a forged delivery counts: %q at %q with %q", id, at, body)
		}
	})
}
