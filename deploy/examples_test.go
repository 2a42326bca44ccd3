package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/config"
)

// jobFiles are the examples that are applied together.
var jobFiles = []string{"examples/jobs", "examples/cluster-jobs", "examples/handlers/jobs.yaml"}

func TestJobExamplesLoad(t *testing.T) {
	for _, path := range jobFiles {
		t.Run(path, func(t *testing.T) {
			set, err := config.LoadJobs([]string{path})
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Jobs) == 0 {
				t.Error("got no jobs")
			}
			for name, d := range set.Jobs {
				if d.Spec.Description == "" && path != "examples/handlers/jobs.yaml" {
					t.Errorf("job %s has no description", name)
				}
			}
		})
	}
}

func TestJobExamplesShowEveryKind(t *testing.T) {
	set, err := config.LoadJobs(jobFiles)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, d := range set.Jobs {
		kinds[d.Spec.Kind()] = true
	}
	for _, kind := range []string{"command", "shell", "http", "handler"} {
		if !kinds[kind] {
			t.Errorf("no example is of the kind %s", kind)
		}
	}
}

// settingFiles returns all settings files among the examples.
func settingFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("examples/replicas/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 6 {
		t.Fatalf("got %d settings files, want at least 6: %v", len(files), files)
	}
	return files
}

func load(t *testing.T, file string) config.Settings {
	t.Helper()
	set, err := config.LoadSettings(file, nil, []string{"HOME=/home/x"})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestSettingsExamplesLoad(t *testing.T) {
	for _, file := range settingFiles(t) {
		t.Run(file, func(t *testing.T) { load(t, file) })
	}
}

// TestFullExampleHasEverySetting looks for each setting in full.yaml. Those of an external etcd are in a file of their own.
func TestFullExampleHasEverySetting(t *testing.T) {
	full, external := load(t, "examples/replicas/full.yaml"), load(t, "examples/replicas/external-etcd.yaml")
	text, err := os.ReadFile("examples/replicas/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for key, origin := range full.Origins() {
		switch {
		case origin == config.OriginFile:
		case external.Origins()[key] != config.OriginFile:
			t.Errorf("%s is in neither full.yaml nor external-etcd.yaml", key)
		case !strings.Contains(string(text), "# "+strings.Split(key, ".")[1]+":"):
			t.Errorf("%s is in external-etcd.yaml, but full.yaml does not mention it", key)
		}
	}
}

// TestFullExampleShowsDefaults compares the values of full.yaml with the defaults, except those that differ in a cluster.
func TestFullExampleShowsDefaults(t *testing.T) {
	full := load(t, "examples/replicas/full.yaml")
	bare, err := config.LoadSettings("", nil, []string{"HOME=/home/x", "ROTA_NODE_NAME=q1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, got, want string }{
		{"etcd.prefix", full.Etcd.Prefix, bare.Etcd.Prefix},
		{"etcd.embedded.client", strings.Replace(full.Etcd.Embedded.Client, "https", "http", 1), bare.Etcd.Embedded.Client},
		{"log.level", string(full.Log.Level), string(bare.Log.Level)},
		{"log.format", string(full.Log.Format), string(bare.Log.Format)},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want the default %q", c.key, c.got, c.want)
		}
	}
	if full.Election != bare.Election || full.Dispatch != bare.Dispatch || full.History != bare.History {
		t.Errorf("got %+v %+v %+v, want the defaults %+v %+v %+v",
			full.Election, full.Dispatch, full.History, bare.Election, bare.Dispatch, bare.History)
	}
	if full.Worker.Capacity != bare.Worker.Capacity || full.Worker.ShutdownGrace != bare.Worker.ShutdownGrace {
		t.Errorf("got %+v, want the defaults %+v", full.Worker, bare.Worker)
	}
}

// TestReplicaExamplesMakeOneCluster compares the members that the three files list. Replicas find each other only if the lists
// are equal.
func TestReplicaExamplesMakeOneCluster(t *testing.T) {
	first := load(t, "examples/replicas/q1.yaml")
	for _, name := range []string{"q1", "q2", "q3"} {
		set := load(t, "examples/replicas/"+name+".yaml")
		if set.Node.Name != name {
			t.Errorf("%s.yaml has the node name %s", name, set.Node.Name)
		}
		if set.Etcd.Embedded.Cluster != first.Etcd.Embedded.Cluster {
			t.Errorf("%s.yaml: got cluster %s, want that of q1.yaml, %s", name, set.Etcd.Embedded.Cluster, first.Etcd.Embedded.Cluster)
		}
	}
}

// TestComposeMountsWhatExists looks for each mounted path. Docker makes an empty directory of a path that does not exist.
func TestComposeMountsWhatExists(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Command []string
			Volumes []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) != 3 {
		t.Fatalf("got %d services, want 3", len(file.Services))
	}
	for name, s := range file.Services {
		mounted := map[string]bool{}
		for _, v := range s.Volumes {
			from, to, _ := strings.Cut(strings.ReplaceAll(v, "${ROTA_JOBS:-./examples/cluster-jobs}", "./examples/cluster-jobs"), ":")
			mounted[strings.TrimSuffix(to, ":ro")] = true
			if !strings.HasPrefix(from, ".") {
				if _, ok := file.Volumes[from]; !ok {
					t.Errorf("%s: volume %s is not declared", name, from)
				}
				continue
			}
			if _, err := os.Stat(from); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		set := load(t, "examples/replicas/"+name+".yaml")
		for _, path := range []string{set.Jobs, set.Node.DataDir, s.Command[len(s.Command)-1]} {
			if !mounted[path] {
				t.Errorf("%s: nothing is mounted at %s", name, path)
			}
		}
	}
}
