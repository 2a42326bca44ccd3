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
)

// root is the path to the top of the tree.
const root = "../.."

// TestEachGuardHasItsCode checks that the code of each guard occurs exactly once. It is fast, because it runs no other test.
func TestEachGuardHasItsCode(t *testing.T) {
	for _, g := range Guards {
		without(t, g)
	}
}

// TestEachGuardIsNeeded runs the test of each guard twice: with the guard, and without it.
func TestEachGuardIsNeeded(t *testing.T) {
	if testing.Short() || os.Getenv("ROTA_FAULTS") == "" {
		t.Skip("builds and tests packages for each guard, as make fault does: set ROTA_FAULTS=1")
	}
	for _, g := range Guards {
		t.Run(strings.ReplaceAll(g.Name, " ", "-"), func(t *testing.T) {
			if out, err := goTest(t, g, "-count=1"); err != nil {
				t.Fatalf("%s fails with the guard in place: %v\n%s", g.Test, err, out)
			}
			overlay := without(t, g)
			if out, err := goTest(t, g, "-overlay="+overlay, "-count=1", "-exec=true"); err != nil {
				t.Fatalf("the source does not build without the guard, which proves nothing: %v\n%s", err, out)
			}
			out, err := goTest(t, g, "-overlay="+overlay, "-count=1")
			var exit *exec.ExitError
			switch {
			case err == nil:
				t.Errorf("%s is cut from %s, and %s passes", g.Name, g.File, g.Test)
			case !errors.As(err, &exit) || !strings.Contains(out, "FAIL"):
				t.Errorf("%s did not run: %v\n%s", g.Test, err, out)
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
	cut := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(cut, []byte(strings.Replace(string(src), g.Code, g.Cut, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: cut}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func goTest(t *testing.T, g Guard, flags ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append([]string{"test", "-run", "^" + g.Test + "$", "-timeout", "1m"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, g.Pkg)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
