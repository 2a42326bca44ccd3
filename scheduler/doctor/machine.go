package doctor

import (
	"fmt"
	"slices"
	"time"
)

// From these values on, a machine is a finding.
const (
	slowDisk     = 50 * time.Millisecond
	leastFree    = 1 << 30 // bytes
	leastPercent = 5
	certMargin   = 14 * 24 * time.Hour
	// perAttempt is how many descriptors an attempt may need: pipes, its output file, a connection.
	perAttempt = 8
	basic      = 1024 // descriptors that a replica needs besides
)

func (e *examiner) certificates() {
	for _, b := range e.Broken {
		e.add(b.Path, "A process does not start with this file: "+b.Err.Error()+".",
			"put a whole file there before the next restart: docs/how-to/renew-certificates.md")
	}
	for _, s := range e.Served {
		cure := "rota pki issue: docs/how-to/renew-certificates.md"
		if s.Cert.IsCA {
			cure = "replace the authority: docs/how-to/close-the-network.md#replace-the-authority"
		}
		switch left := s.Cert.NotAfter.Sub(e.Now); {
		case left < 0:
			e.add(s.Where, "The certificate expired at "+stamp(s.Cert.NotAfter)+".", cure)
		case left < certMargin:
			e.add(s.Where, "The certificate expires at "+stamp(s.Cert.NotAfter)+".", cure)
		case e.Now.Before(s.Cert.NotBefore):
			e.add(s.Where, "The certificate is valid only from "+stamp(s.Cert.NotBefore)+".", "compare the clock of this machine")
		}
	}
}

// renewal says what to do if a certificate has expired; "" if none has. Members that run do not reach each other then. An authority
// may have a successor in its file.
func (e *examiner) renewal() string {
	succeeded := func(old Served) bool {
		return old.Cert.IsCA && slices.ContainsFunc(e.Served, func(s Served) bool {
			return s.Where == old.Where && s.Cert.IsCA && s.Cert.NotAfter.After(e.Now)
		})
	}
	if !slices.ContainsFunc(e.Served, func(s Served) bool { return s.Cert.NotAfter.Before(e.Now) && !succeeded(s) }) {
		return ""
	}
	return "renew the certificates that have expired, before you start or replace anything: docs/how-to/renew-certificates.md"
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (e *examiner) machine() {
	m := e.Machine
	switch {
	case m.DiskErr != nil:
		e.add(m.DataDir, "Nothing can be written to the data directory: "+m.DiskErr.Error()+".", "let the user of rota write there")
	case m.Sync > slowDisk:
		e.add(m.DataDir, fmt.Sprintf("A small write takes %v until it is on the disk.", m.Sync.Round(time.Millisecond)),
			"use a faster disk for node.data_dir")
	}
	if m.Total > 0 && (m.Free < leastFree || 100*m.Free < leastPercent*m.Total) {
		e.add(m.DataDir, fmt.Sprintf("%d MiB are free (%d%%).", m.Free>>20, 100*m.Free/m.Total), "make room, or move node.data_dir")
	}
	if need := uint64(basic + perAttempt*m.Settings.Capacity); m.Settings.Worker && m.Descriptors > 0 && m.Descriptors < need {
		e.add("", fmt.Sprintf("The process may open %d files; worker.capacity %d needs %d.", m.Descriptors, m.Settings.Capacity, need),
			"raise LimitNOFILE of the unit, or lower worker.capacity")
	}
	for _, path := range m.OpenKeys {
		e.add(path, "Other users may read this private key.", "chmod 0600 "+path)
	}
}

func (e *examiner) settings() {
	s := e.Machine.Settings
	if s.Embedded > 1 && s.Embedded%2 == 0 {
		e.add("etcd.embedded.cluster",
			fmt.Sprintf("It names %d members: they tolerate no more losses than %d would.", s.Embedded, s.Embedded-1),
			"name three or five")
	}
	if s.ArmAhead >= s.TTL {
		e.add("dispatch.arm_ahead", fmt.Sprintf("It is %v, and election.ttl only %v: armed runs outlive the session of their worker.",
			s.ArmAhead, s.TTL), "let arm_ahead be shorter than election.ttl")
	}
	if s.MaxClockOffset*2 > s.TTL {
		e.add("dispatch.max_clock_offset", fmt.Sprintf("It is %v, more than half of election.ttl (%v).", s.MaxClockOffset, s.TTL),
			"lower it, or raise election.ttl")
	}
	for _, m := range e.Members {
		if m.Err == nil && m.Latency*10 > s.TTL {
			e.add("election.ttl", fmt.Sprintf("It is %v, and %s takes %v for a read: slow moments end the term of a leader.",
				s.TTL, m.Endpoint, m.Latency.Round(time.Millisecond)), "raise election.ttl to ten times the slowest read")
		}
	}
}
