package doctor_test

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/doctor"
)

// TestAnExpiredCertificateIsRenewedFirst looks at members that run and do not reach each other. To replace one of them would not help.
func TestAnExpiredCertificateIsRenewedFirst(t *testing.T) {
	f := healthy()
	f.Served[0].Cert.NotAfter = now.Add(-time.Hour)
	f.StoreErr = errors.New("context deadline exceeded")
	for i := range f.Members {
		f.Members[i].Err = errors.New("certificate has expired")
	}
	findings := doctor.Examine(f).Findings
	if len(findings) != 5 {
		t.Errorf("got %d findings, want one for each member, the store and the certificate: %+v", len(findings), findings)
	}
	for _, finding := range findings {
		if !strings.Contains(finding.Do, "docs/how-to/renew-certificates.md") {
			t.Errorf("%s: do %q, want the renewal", finding.Text, finding.Do)
		}
	}
}

// TestAnAuthorityIsReplaced looks at a file with an old authority and the new one. No certificate that the old one could issue would
// outlive it.
func TestAnAuthorityIsReplaced(t *testing.T) {
	f := healthy()
	authority := func(days int) doctor.Served {
		return doctor.Served{Where: "ca.crt", Cert: &x509.Certificate{IsCA: true, NotAfter: now.AddDate(0, 0, days)}}
	}
	f.Served = append(f.Served, authority(10))
	find := func() string { return doctor.Examine(f).Findings[0].Do }
	if do := find(); !strings.HasSuffix(do, "close-the-network.md#replace-the-authority") {
		t.Errorf("do %q, want the authority to be replaced", do)
	}
	f.Served = append(f.Served[:1], authority(-1), authority(100))
	f.Members[0].Err = errors.New("connection refused")
	if do := find(); strings.Contains(do, "renew") {
		t.Errorf("a member is down, and the new authority is valid: do %q", do)
	}
}
