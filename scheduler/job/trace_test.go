package job

import "testing"

// TestTheTraceContextOfARunNeverChanges compares a context with that of earlier versions. Attempts of one run may execute on workers
// of several versions.
func TestTheTraceContextOfARunNeverChanges(t *testing.T) {
	r := Run{Job: "charge", ID: "2026-11-23T04:20:00Z", Token: 42}
	first := r.TraceParent(true)
	if want := "00-c05f5ce21d90a13c07d4e319a0840080-74f855cc49a5d549-01"; first != want {
		t.Errorf("got %s, want %s", first, want)
	}
	r.Token = 43
	if second := r.TraceParent(true); second[:35] != first[:35] || second == first {
		t.Errorf("attempts have the contexts %s and %s, want one trace and two spans", first, second)
	}
}
