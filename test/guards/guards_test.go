package guards

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

// root is the path to the top of the tree.
const root = "../.."

// TestEachGuardHasItsCode checks that the code of each guard occurs exactly once. It is fast, because it runs no other test.
func TestEachGuardHasItsCode(t *testing.T) {
	for _, g := range Guards {
		without(t, g)
	}
}

// TestEachGuardIsNeeded runs the tests of all guards with them, and then the test of each guard without it.
func TestEachGuardIsNeeded(t *testing.T) {
	if testing.Short() || os.Getenv("ROTA_FAULTS") == "" {
		t.Skip("builds and tests packages for each guard, as make fault does: set ROTA_FAULTS=1")
	}
	tests := make(map[string][]string)
	for _, g := range Guards {
		tests[g.Pkg] = append(tests[g.Pkg], g.Test)
	}
	for pkg, names := range tests {
		if out, err := goTest(t, pkg, names); err != nil {
			t.Fatalf("%s: a test of %v fails with all guards in place: %v\n%s", pkg, names, err, out)
		}
	}
	for _, g := range Guards {
		t.Run(strings.ReplaceAll(g.Name, " ", "-"), func(t *testing.T) {
			out, err := goTest(t, g.Pkg, []string{g.Test}, "-overlay="+without(t, g))
			var exit *exec.ExitError
			switch {
			case err == nil:
				t.Errorf("%s is cut from %s, and %s passes", g.Name, g.File, g.Test)
			case !errors.As(err, &exit) || !strings.Contains(out, "--- FAIL: ") && !strings.Contains(out, "panic: "):
				t.Errorf("%s did not run without the guard, which proves nothing: %v\n%s", g.Test, err, out)
			}
		})
	}
}

// without writes a copy of the guard's file without the guard. It returns a go overlay that replaces the file by the copy.
func without(t *testing.T, g Guard) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, g.File))
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), g.Code); n != 1 {
		t.Fatalf("%s has the code of %s %d times, want once: update guards.go\n%s", g.File, g.Name, n, g.Code)
	}
	dir := t.TempDir()
	cut := files.Write(t, filepath.Join(dir, filepath.Base(path)), strings.Replace(string(src), g.Code, g.Cut, 1))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: cut}})
	if err != nil {
		t.Fatal(err)
	}
	return files.Write(t, filepath.Join(dir, "overlay.json"), overlay)
}

// goTest runs tests of a package and returns their output.
func goTest(t *testing.T, pkg string, tests []string, flags ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append([]string{"test", "-count=1", "-timeout", "1m", "-run", "^(" + strings.Join(tests, "|") + ")$"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
