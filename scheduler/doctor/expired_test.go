package doctor_test

import (
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
