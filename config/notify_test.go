package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestNotifiersMayBeInAnotherFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "jobs:\n  a: {shell: x, notify: [ops]}\n",
		"b.yaml": "# a file may have nothing else\nnotifiers:\n  ops: {url: 'ntfy://host/topic', when: failure}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := LoadJobs([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	want := job.Notify{"ops": {URL: "ntfy://host/topic", When: []job.Occasion{job.OnFailure}}}
	if diff := cmp.Diff(want, set.Jobs["a"].Spec.Notify); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = LoadJobs([]string{filepath.Join(dir, "a.yaml")})
	if err == nil || !strings.Contains(err.Error(), `a.yaml:2:26: notifier "ops" is not defined`) {
		t.Errorf("without the other file: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte("jobs: {}\nnotifiers: {ops: {url: 'ntfy://host/other'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = LoadJobs([]string{dir}); err == nil || !strings.Contains(err.Error(), `duplicate notifier "ops": already defined at `) {
		t.Errorf("defined twice: got %v", err)
	}
}

func TestHashFollowsNotifiers(t *testing.T) {
	const text = "jobs: {a: {shell: x, notify: [ops]}}\nnotifiers: {ops: {url: 'ntfy://host/one'}}\n"
	if parse1(t, text).Hash == parse1(t, strings.Replace(text, "one", "two", 1)).Hash {
		t.Error("the hash is the same")
	}
}
