package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestStrangersAreNotAtAWrongAddress(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("get: %w", &tls.CertificateVerificationError{Err: errors.New("unknown authority")}), true},
		{&client.Error{Status: 401}, true},
		{&client.Error{Status: 403}, true},
		{&client.Error{Status: 503}, false},
		{errors.New("no route"), false},
	} {
		if got := strange(tt.err); got != tt.want {
			t.Errorf("strange(%v): got %v, want %v", tt.err, got, tt.want)
		}
	}
}
