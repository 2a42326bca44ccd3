package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files writes files into a new directory and returns it.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(s *Set) string { return strings.Join(sortedKeys(s.Jobs), " ") }

func TestDirectoryGivesItsJobFiles(t *testing.T) {
	dir := files(t, map[string]string{
		"b.yaml":         "jobs: {b: {shell: x}}",
		"a.yml":          "jobs: {a: {shell: x}}",
		".hidden.yaml":   "not yaml: [",
		"README.md":      "not yaml: [",
		"below/c.yaml":   "jobs: {c: {shell: x}}",
		"dir.yaml/d.yml": "jobs: {d: {shell: x}}",
	})
	set, err := LoadJobs([]string{dir, filepath.Join(dir, "b.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(set), "a b"; got != want {
		t.Errorf("jobs %q, want %q", got, want)
	}
	if got, want := set.Jobs["a"].File, filepath.Join(dir, "a.yml"); got != want {
		t.Errorf("file %q, want %q", got, want)
	}
}

func TestAFileIsReadOnce(t *testing.T) {
	dir := files(t, map[string]string{"a.yaml": "jobs: {a: {shell: x}}"})
	t.Chdir(dir)
	set, err := LoadJobs([]string{"a.yaml", "./a.yaml", "../" + filepath.Base(dir) + "/a.yaml", ".", dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Jobs["a"].File; got != "a.yaml" {
		t.Errorf("file %q, want the first spelling", got)
	}
}

func TestConfigMapLayoutIsRead(t *testing.T) {
	dir := files(t, map[string]string{"..2026_01_01/jobs.yaml": "jobs: {a: {shell: x}}"})
	for link, target := range map[string]string{"..data": "..2026_01_01", "jobs.yaml": "..data/jobs.yaml"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	set, err := LoadJobs([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(set); got != "a" {
		t.Errorf("jobs %q, want a", got)
	}
}

func TestMistakesOfAllFilesAreReportedAtOnce(t *testing.T) {
	dir := files(t, map[string]string{
		"a.yaml": "jobs:\n  a: {shell: x}\n  b: {shel: x}\n",
		"b.yaml": "jobs:\n  a: {shell: x}\n",
		"c.yaml": "jobs: [",
		"d.yaml": "",
	})
	missing := filepath.Join(dir, "missing")
	_, err := LoadJobs([]string{dir, missing})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"a.yaml:3:7: unknown key \"shel\"",
		"b.yaml:2:3: duplicate job \"a\": already defined at " + filepath.Join(dir, "a.yaml") + ":2",
		"c.yaml:1:8: is not YAML",
		"d.yaml:1:1: is empty",
		missing + ": does not exist",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

func TestUnreadablePathsAreNamed(t *testing.T) {
	dir := files(t, map[string]string{"secret.yaml": "jobs: {}", "none/readme": "", "large.yaml": strings.Repeat("#\n", MaxFile)})
	if err := os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "secret.yaml"), 0); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"none":          "has no job file",
		"large.yaml":    "is larger than 4 MiB",
		"loop.yaml":     "leads back to itself",
		"dangling.yaml": "does not exist",
		"secret.yaml":   "may not be read",
	} {
		t.Run(name, func(t *testing.T) {
			if name == "secret.yaml" && os.Geteuid() == 0 {
				t.Skip("NOT TESTED: root may read everything")
			}
			path := filepath.Join(dir, name)
			_, err := LoadJobs([]string{path})
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "hint: ") {
				t.Errorf("got %v, want %s: %s, and a hint", err, path, want)
			}
		})
	}
	t.Run("device", func(t *testing.T) {
		if _, err := LoadJobs([]string{os.DevNull}); err == nil || !strings.Contains(err.Error(), "not a regular file") ||
			!strings.Contains(err.Error(), "standard input if the path is -") {
			t.Errorf("got %v", err)
		}
	})
}
