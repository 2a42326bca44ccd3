package peer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
)

// TestHalfAReplacementKeepsTheLastPair replaces the files of a certificate one after the other. In between, and after the loss of a
// file, the process must still serve.
func TestHalfAReplacementKeepsTheLastPair(t *testing.T) {
	t.Parallel()
	dir := pkitest.Replicas(t, "q1", "q2")
	cert, key := filepath.Join(dir, "q1.crt"), filepath.Join(dir, "q1.key")
	p := NewPair(cert, key)
	name := func() string {
		c, err := p.Read()
		if err != nil {
			return err.Error()
		}
		return c.Leaf.URIs[0].Path
	}
	replace := func(old, by string) {
		t.Helper()
		if err := os.Rename(filepath.Join(dir, by), old); err != nil {
			t.Fatal(err)
		}
	}
	first := name()
	replace(key, "q2.key")
	if got := name(); got != first {
		t.Errorf("between the two: got %s, want %s", got, first)
	}
	replace(cert, "q2.crt")
	second := name()
	if second == first {
		t.Errorf("after both: got %s", second)
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != second {
		t.Errorf("without a file: got %s, want %s", got, second)
	}
	if _, err := NewPair(cert, key).Read(); err == nil {
		t.Error("a process starts without a certificate")
	}
}

// TestAnUnchangedPairIsParsedOnce: each handshake reads the pair, and to parse a key takes as long as the rest of the handshake.
func TestAnUnchangedPairIsParsedOnce(t *testing.T) {
	t.Parallel()
	dir := pkitest.Replicas(t, "q1")
	p := NewPair(filepath.Join(dir, "q1.crt"), filepath.Join(dir, "q1.key"))
	first, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.Read(); err != nil || again != first {
		t.Errorf("got another certificate, %v", err)
	}
}
