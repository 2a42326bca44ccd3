package refs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/test/files"
)

// An author must not get the bytes of a file that the operator did not allow, by any path.
func TestAPolicyDecidesWhichReferencesResolve(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		return files.Write(t, filepath.Join(dir, name), "bytes of "+name)
	}
	link := func(to, name string, create func(string, string) error) string {
		p := filepath.Join(dir, name)
		if err := create(to, p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	token := write("secrets/token")
	key := write("tls/q1.key")
	data := write("data/journal.db")
	outside := write("outside")
	below := write("deep/a/b/c")
	inside := write("secrets/q2.key") // a key of rota itself, in a directory that is allowed
	link(dir+"/secrets", "alias", os.Symlink)
	t.Setenv("ROTA_SECRET_A", "a")
	t.Setenv("DB_PASSWORD", "b")
	policy := &refs.Policy{
		Setting: "worker.refs",
		Files:   []string{dir + "/secrets/*", dir + "/alias/*", dir + "/tls/*", dir + "/deep/**"},
		Env:     []string{"ROTA_SECRET_*"},
		Never:   []string{key, dir + "/data", inside, filepath.Join(dir, "absent")},
	}
	for _, tt := range []struct{ name, ref, want string }{
		{"a file that is allowed", "${file:" + token + "}", ""},
		{"a file below a directory", "${file:" + below + "}", ""},
		{"an allowed directory by its other name", "${file:" + dir + "/alias/token}", ""},
		{"a variable that is allowed", "${env:ROTA_SECRET_A}", ""},
		{"another variable", "${env:DB_PASSWORD}", "variable is not in worker.refs.env"},
		{"another file", "${file:" + outside + "}", "file is not in worker.refs.files"},
		{"a way out", "${file:" + dir + "/secrets/../outside}", "file is not in worker.refs.files"},
		{"a key of rota", "${file:" + key + "}", "belongs to rota"},
		{"a key of rota beside secrets", "${file:" + inside + "}", "belongs to rota"},
		{"data of rota", "${file:" + data + "}", "belongs to rota"},
		{"a link that leads out", "${file:" + link(outside, "secrets/soft", os.Symlink) + "}", "file is a link, and its target is not in worker.refs.files"},
		{"a link to a key", "${file:" + link(key, "secrets/softkey", os.Symlink) + "}", "belongs to rota"},
		{"another name of a key", "${file:" + link(key, "secrets/hard", os.Link) + "}", "belongs to rota"},
		{"a directory that is not allowed, without the file", "${file:" + dir + "/nowhere}", "file is not in worker.refs.files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := refs.Resolver{Policy: policy}
			got, err := r.Expand(tt.ref)
			var refused *refs.RefusedError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want it allowed", err)
			case tt.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || got != ""):
				t.Errorf("got %q, %v, want a refusal that says %q", got, err, tt.want)
			}
		})
	}
	r := refs.Resolver{Policy: &refs.Policy{Setting: "worker.refs"}}
	if _, err := r.Expand("${env:ROTA_SECRET_A}"); err == nil {
		t.Error("an empty policy allows a variable")
	}
}
