package node

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
)

// TestNoReferenceLeadsToFilesOfRota allows a whole directory to definitions, and puts each file of the settings into it. A setting
// that names a file is found by its name, so a new one is tested too.
func TestNoReferenceLeadsToFilesOfRota(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name string) string {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("bytes of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var set config.Settings
	files := map[string]string{"node.data_dir": write("data/q1/journal.db"), "another file": write("token")}
	var walk func(v reflect.Value, key string)
	walk = func(v reflect.Value, key string) {
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case !field.CanSet(): // it is no setting
			case field.Kind() == reflect.Struct:
				walk(field, key+"."+name)
			case field.Kind() == reflect.String && (slices.Contains([]string{"Cert", "Key", "CA", "ClientCA", "Kubeconfig"}, name) || strings.HasSuffix(name, "File")):
				files[key+"."+name] = write("keys/" + key + "." + name)
				field.SetString(files[key+"."+name]) // a relative path, as settings may have
			}
		}
	}
	walk(reflect.ValueOf(&set).Elem(), "settings")
	set.Node.DataDir = "data"
	if len(files) < 15 {
		t.Errorf("only %d files are known: %v", len(files), files)
	}
	n := &Node{set: set}
	for setting, name := range files {
		r := refs.Resolver{Policy: n.references("worker.refs", config.Refs{Files: []string{dir + "/**"}})}
		got, err := r.Expand("${file:" + filepath.Join(dir, name) + "}")
		var refused *refs.RefusedError
		switch {
		case setting == "another file" && err != nil:
			t.Errorf("%s: %v", setting, err)
		case setting != "another file" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), "belongs to rota")):
			t.Errorf("%s: got %q, %v, want a refusal", setting, got, err)
		}
	}
}

func TestMembersOfEtcdAreKnownByTheirURLs(t *testing.T) {
	got := memberURLs("q1=http://q1:2380, q2=https://10.0.0.2:2380")
	if want := []string{"http://q1:2380", "https://10.0.0.2:2380"}; !slices.Equal(got, want) || memberURLs("") != nil {
		t.Errorf("got %q, want %q", got, want)
	}
}
