package lacking

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Skip skips the test, or fails it if ROTA_CI=1: there the machine must lack nothing. The text says what is missing.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	text := "NOT TESTED: " + fmt.Sprintf(format, args...)
	if os.Getenv("ROTA_CI") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// SkipForRoot is Skip for what only root may do. A test of another user is skipped in any case.
func SkipForRoot(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("NOT TESTED: "+format, args...)
	}
	Skip(t, format, args...)
}

// Program returns the path of a program. Without the program, which is in a package of Debian, it skips the test.
func Program(t testing.TB, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, "%s is missing: apt-get install %s", name, debian)
	}
	return path
}
