package auth_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// TestNothingShowsASecret gives a sealed text, and the secrets of tokens and sessions, to all that writes values.
func TestNothingShowsASecret(t *testing.T) {
	text := auth.Seal("hunter2")
	if text.Reveal() != "hunter2" {
		t.Fatalf("the sealed text is %q", text.Reveal())
	}
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := auth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	type inner struct{ hidden any }
	values := map[string]any{
		"text": text, "pointer": &text, "list": []auth.Sealed{text}, "map": map[string]auth.Sealed{"a": text},
		"unexported field": struct{ token auth.Sealed }{text}, "unexported interface": inner{text},
		"secret of a token": secret, "secret in a field": struct{ Secret auth.Secret }{secret}, "key of a session": key,
	}
	for name, v := range values {
		var shown bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			fmt.Fprintf(&shown, verb+"\n", v)
		}
		fmt.Fprintln(&shown, v, errors.Join(fmt.Errorf("refuse %v", v)))
		if text, err := json.Marshal(v); err == nil {
			shown.Write(text)
		}
		slog.New(slog.NewJSONHandler(&shown, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&shown, nil)).Info("x", "v", v)
		for _, asJSON := range []bool{false, true} {
			hclog.New(&hclog.LoggerOptions{Output: &shown, JSONFormat: asJSON}).Info("x", "v", v)
		}
		for _, hidden := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), strings.Split(secret.Text(), "_")[2], string(key)} {
			if strings.Contains(strings.ToLower(shown.String()), strings.ToLower(hidden)) {
				t.Errorf("%s shows %q: %s", name, hidden, shown.String())
			}
		}
	}
}
