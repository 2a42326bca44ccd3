package arch

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folders lists the folders at the top. The last two are generated.
var folders = []string{".ci", ".git", "cmd", "config", "deploy", "docs", "election", "scheduler", "store", "test", "bin", ".rota"}

// topFiles lists the files at the top that git tracks.
var topFiles = []string{".dockerignore", ".editorconfig", ".gitignore", ".golangci.yml", ".vale.ini", "CHANGELOG.md", "CONTRIBUTING.md",
	"LICENSE", "Makefile", "README.md", "SECURITY.md", "go.mod", "go.sum"}

func TestTopLevelIsFixed(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(folders, e.Name()) {
			t.Errorf("folder %s at the top: put it into one of %s", e.Name(), strings.Join(folders, " "))
		}
	}
	tracked, err := exec.Command("git", "-C", root, "ls-files", ":(glob)*").Output()
	if err != nil {
		t.Skipf("this is no checkout of git, so its files are unknown: %v", err)
	}
	for name := range strings.FieldsSeq(string(tracked)) {
		if !slices.Contains(topFiles, name) {
			t.Errorf("file %s at the top: git may only track %s there", name, strings.Join(topFiles, " "))
		}
	}
}

// maxLines is the most lines that a Go file may have. A longer file holds more than one concept.
const maxLines = 300

func TestNoFileIsTooLong(t *testing.T) {
	for path, text := range goFiles(t) {
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by concept", path, n, maxLines)
		}
	}
}

// goFiles returns the text of each Go file, by its path below the root.
func goFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "bin" || e.Name() == "testdata" || len(e.Name()) > 2 && e.Name()[0] == '.'):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(below)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
