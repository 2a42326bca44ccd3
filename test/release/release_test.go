package release_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/test/release"
)

func TestVersion010CanBeBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a whole binary")
	}
	out, err := exec.CommandContext(t.Context(), release.Build(t, release.V010), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rota") {
		t.Fatalf("rota version: %v\n%s", err, out)
	}
	t.Logf("version 0.1.0 says:\n%s", out)
}
