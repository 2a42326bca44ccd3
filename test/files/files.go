package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Write writes a file that only its owner may read, and makes the directories above it. It returns the path of the file.
func Write[T string | []byte](t testing.TB, path string, text T) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Replace writes a file in one step, as editors do: it renames a hidden file of the same directory.
func Replace(t testing.TB, path, text string) {
	t.Helper()
	next := Write(t, filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new"), text)
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// Grow appends to a file in pieces with a pause after each, like a copy over a slow connection.
func Grow(t testing.TB, path string, pieces int, pause time.Duration) {
	t.Helper()
	for n := range pieces {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(file, "# piece %d\n", n)
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		// The sleep limits the speed of the writer. There is no condition to poll.
		time.Sleep(pause)
	}
}

// Jobs returns a job file with a job of each name, all with the same description.
func Jobs(description string, names ...string) string {
	var b strings.Builder
	b.WriteString("jobs:\n")
	for _, name := range names {
		fmt.Fprintf(&b, "  %s: {description: %q, command: [\"true\"]}\n", name, description)
	}
	return b.String()
}
