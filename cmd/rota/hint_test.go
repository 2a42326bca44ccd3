package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestHintsOfTLS(t *testing.T) {
	ended := fmt.Errorf("get: %w", x509.CertificateInvalidError{Reason: x509.Expired})
	for want, err := range map[string]error{
		"renew-certificates.md": &client.Unreachable{Servers: []string{"https://q1:8470"}, Err: ended},
		"--cacert":              &client.Unreachable{Servers: []string{"https://q1:8470"}, Err: x509.UnknownAuthorityError{}},
		"name yours with --cert": &client.Unreachable{
			Servers: []string{"https://q1:8470"}, Err: errors.New("http2: client conn could not be established"),
		},
		"ROTA_CONFIG": &client.Error{Foreign: true, Status: 400, Server: "http://127.0.0.1:8470"},
	} {
		if got := answerHint(err); !strings.Contains(got, want) {
			t.Errorf("%v: got the hint %q, want %q in it", err, got, want)
		}
	}
	if got := answerHint(&client.Error{Foreign: true, Status: 400, Server: "https://q1:8470"}); got != "" {
		t.Errorf("a foreign server with TLS: got the hint %q, want none", got)
	}
}
