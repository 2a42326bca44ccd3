package importer_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/config"
)

var update = flag.Bool("update", false, "write the golden files")

// jobFile returns the job file of a result.
func jobFile(t testing.TB, res *importer.Result) string {
	t.Helper()
	text, err := res.JobFile()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// golden compares a result with a file. The result has the form of a job file and the reports that a user gets. golden also reads
// the job file back.
func golden(t *testing.T, path string, res *importer.Result) {
	t.Helper()
	var b strings.Builder
	text := jobFile(t, res)
	if _, err := config.ParseJobs("imported.yaml", []byte(text)); len(text) > 0 && err != nil {
		t.Errorf("the job file has errors:\n%v\n%s", err, text)
	}
	b.WriteString(text)
	for _, p := range res.Problems {
		b.WriteString("# " + p.String() + "\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFilesOfOtherToolsAreTranslated(t *testing.T) {
	for pattern, run := range map[string]func(file, text string, into *importer.Result){
		"testdata/crontab/*.cron": func(file, text string, into *importer.Result) {
			importer.Crontab(file, text, importer.CrontabOptions{System: strings.HasPrefix(filepath.Base(file), "system-"), Timezone: "Europe/Berlin"}, into)
		},
		"testdata/cronjob/*.yaml": importer.CronJob,
		"testdata/dkron/*.json":   importer.Dkron,
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				var res importer.Result
				run(file, read(t, file), &res)
				golden(t, file+".golden", &res)
			})
		}
	}
}

func TestTimersAreTranslatedWithTheirServices(t *testing.T) {
	files, err := filepath.Glob("testdata/systemd/*.[ts][ie][mr]*")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range files {
		texts[file] = read(t, file)
	}
	var res importer.Result
	importer.Systemd(texts, "UTC", &res)
	golden(t, "testdata/systemd/all.golden", &res)
}
