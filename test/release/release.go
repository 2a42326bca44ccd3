package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// V010 is the commit of version 0.1.0, the first one.
const V010 = "e6e01013ade9e4e1b024a68670c1c2b8b1eaf4d6"

// Build builds the rota of a commit in a temporary folder and returns the path of the binary. It needs the history of git: where
// that is absent, for example in a shallow clone, the test is skipped, or fails if ROTA_CI=1. The Go module cache must have the
// modules of that commit, or the network must be there.
func Build(t testing.TB, commit string) (binary string) {
	t.Helper()
	archive := exec.CommandContext(t.Context(), "git", "archive", "--format=tar", commit)
	archive.Dir = moduleRoot(t)
	var stderr bytes.Buffer
	archive.Stderr = &stderr
	source, err := archive.Output()
	if err != nil {
		if os.Getenv("ROTA_CI") == "1" {
			t.Fatalf("export commit %s: %v: %s", commit, err, stderr.String())
		}
		t.Skipf("SKIPPED: the history of git does not have commit %s: %v: %s", commit, err, stderr.String())
	}
	dir := t.TempDir()
	if err := extract(source, dir); err != nil {
		t.Fatalf("unpack commit %s: %v", commit, err)
	}
	binary = filepath.Join(t.TempDir(), "rota")
	// The archive is no checkout, so go cannot stamp the commit into the binary.
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "./cmd/rota")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build commit %s: %v\n%s", commit, err, out)
	}
	return binary
}

// moduleRoot returns the folder of go.mod: git archive exports only the folder that it runs in.
func moduleRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	return filepath.Dir(string(bytes.TrimSpace(out)))
}

// extract writes the folders and files of a tar archive below dir.
func extract(archive []byte, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(h.Name), 0o755)
		case tar.TypeReg:
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = root.WriteFile(filepath.Clean(h.Name), content, h.FileInfo().Mode())
			}
		}
		if err != nil {
			return err
		}
	}
}
