package files

import (
	"os"
	"path/filepath"
	"testing"
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
