package refs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/test/files"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		return files.Write(t, filepath.Join(dir, name), content)
	}
	t.Setenv("ROTA_TEST_TOKEN", "s3cret")
	t.Setenv("ROTA_TEST_NESTED", "${env:ROTA_TEST_TOKEN}")
	newline, two := file("newline", "from file\n"), file("two", "from file\n\n")
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ name, in, want, err string }{
		{"plain text stays", "a $HOME ${HOME} {{ .Run }} b", "a $HOME ${HOME} {{ .Run }} b", ""},
		{"variable", "Bearer ${env:ROTA_TEST_TOKEN}!", "Bearer s3cret!", ""},
		{"two in one text", "${env:ROTA_TEST_TOKEN}${env:ROTA_TEST_TOKEN}", "s3crets3cret", ""},
		{"a value is not resolved again", "${env:ROTA_TEST_NESTED}", "${env:ROTA_TEST_TOKEN}", ""},
		{"file without its newline", "${file:" + newline + "}", "from file", ""},
		{"only one newline goes", "${file:" + two + "}", "from file\n", ""},
		{"missing variable", "x ${env:ROTA_TEST_MISSING}", "", "reference ${env:ROTA_TEST_MISSING}: variable is not set here"},
		{"missing file", "${file:/nowhere/x}", "", "reference ${file:/nowhere/x}: cannot be read here: no such file or directory"},
		{"relative file", "${file:x}", "", "reference ${file:x}: path is not absolute"},
		{"a pipe does not hang", "${file:" + fifo + "}", "", "reference ${file:" + fifo + "}: not a regular file"},
		{"too large", "${file:" + file("large", strings.Repeat("x", 1<<20+1)) + "}", "", "larger than"},
		{"zero byte", "${file:" + file("zero", "a\x00b") + "}", "", "has a zero byte"},
		{"not closed", "x ${env:NAME", "", "reference ${env:: closing brace is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := new(refs.Resolver).Expand(tt.in)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestSecretsAreRemembered(t *testing.T) {
	t.Setenv("ROTA_TEST_TOKEN", "s3cret")
	var r refs.Resolver
	if _, err := r.Expand("a ${env:ROTA_TEST_TOKEN}"); err != nil {
		t.Fatal(err)
	}
	if got := r.Secrets(); !slices.Equal(got, []string{"s3cret"}) {
		t.Errorf("got %q", got)
	}
}
