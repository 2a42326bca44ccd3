package release

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// V010 is the commit of version 0.1.0, the first one.
const V010 = "e6e01013ade9e4e1b024a68670c1c2b8b1eaf4d6"

// ErrNoHistory is returned if the history of git does not have a commit, for example in a shallow clone.
var ErrNoHistory = errors.New("the history of git does not have the commit")

// Build builds the rota of a commit in a temporary folder and returns the path of the binary. It needs the history of git: where
// that is absent, for example in a shallow clone, the test is skipped, or fails if ROTA_CI=1. The Go module cache must have the
// modules of that commit, or the network must be there.
func Build(t testing.TB, commit string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "rota")
	err := BuildAt(t.Context(), commit, binary)
	switch {
	case errors.Is(err, ErrNoHistory) && os.Getenv("ROTA_CI") != "1":
		t.Skipf("SKIPPED: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	return binary
}

// BuildAt does the same for a path of the caller.
func BuildAt(ctx context.Context, commit, binary string) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	archive := exec.CommandContext(ctx, "git", "archive", "--format=tar", commit)
	archive.Dir = root
	var stderr bytes.Buffer
	archive.Stderr = &stderr
	source, err := archive.Output()
	if err != nil {
		return fmt.Errorf("%w %s: %w: %s", ErrNoHistory, commit, err, stderr.String())
	}
	dir, err := os.MkdirTemp("", "rota-source-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := extract(source, dir); err != nil {
		return fmt.Errorf("unpack commit %s: %w", commit, err)
	}
	// The archive is no checkout, so go cannot stamp the commit into the binary. Without paths in it, the next build finds its parts
	// in the cache.
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/rota")
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build commit %s: %w\n%s", commit, err, out)
	}
	return nil
}

// moduleRoot returns the folder of go.mod: git archive exports only the folder that it runs in.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(string(bytes.TrimSpace(out))), nil
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
