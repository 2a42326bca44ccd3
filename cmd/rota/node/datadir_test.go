package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADataDirectoryOfOthersIsRefused(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	for _, good := range []string{open, link, filepath.Join(dir, "absent")} {
		if err := checkDataDir(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	if err := os.Chmod(open, 0o707); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{open, link} {
		if err := checkDataDir(bad); err == nil || !strings.Contains(err.Error(), "chmod o-w "+open) {
			t.Errorf("%s, which every user can write: %v", bad, err)
		}
	}
	if os.Geteuid() == 0 {
		other := filepath.Join(dir, "other")
		if err := os.Mkdir(other, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(other, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if err := checkDataDir(other); err == nil || !strings.Contains(err.Error(), "user id 12345") {
			t.Errorf("a directory of another user: %v", err)
		}
	}
}

// If a link is in the place of the lock, root must not overwrite the file that the link leads to.
func TestTheLockIsNoLink(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(set.Node.DataDir, "rota.lock")); err != nil {
		t.Fatal(err)
	}
	launch(t, Config{Settings: set, Version: version}).stopped(t, "rota.lock")
	if text, err := os.ReadFile(victim); err != nil || string(text) != "keep" {
		t.Errorf("the other file is %q, %v", text, err)
	}
}
