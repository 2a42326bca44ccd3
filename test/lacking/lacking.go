package lacking

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Report skips the test, or fails it if ROTA_CI=1: there the machine must lack nothing. The text says what is missing.
func Report(t testing.TB, format string, args ...any) {
	t.Helper()
	text := "NOT TESTED: " + fmt.Sprintf(format, args...)
	if os.Getenv("ROTA_CI") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// ReportForRoot is Report for what only root may do. A test of another user is skipped in any case.
func ReportForRoot(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("NOT TESTED: "+format, args...)
	}
	Report(t, format, args...)
}

// Program returns the path of a program. Without the program, which is in a package of Debian, it skips the test.
func Program(t testing.TB, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Report(t, "%s is missing: apt-get install %s", name, debian)
	}
	return path
}
