package importer_test

import (
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/config"
)

// seeds adds the files of a pattern to the corpus.
func seeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("%s: %v", pattern, err)
	}
	for _, file := range files {
		f.Add(read(f, file))
	}
}

// readsBack checks that an import without problems gives a job file without mistakes.
func readsBack(t *testing.T, res *importer.Result) {
	t.Helper()
	text := jobFile(t, res)
	if len(text) == 0 || !res.Complete() {
		return
	}
	if _, err := config.ParseJobs("imported.yaml", []byte(text)); err != nil {
		t.Errorf("the job file has errors:\n%v\n%s", err, text)
	}
}

func FuzzCrontab(f *testing.F) {
	seeds(f, "testdata/crontab/*.cron")
	f.Fuzz(func(t *testing.T, text string) {
		for _, opts := range []importer.CrontabOptions{{Timezone: "Europe/Berlin"}, {System: true}} {
			var res importer.Result
			importer.Crontab("crontab", text, opts, &res)
			readsBack(t, &res)
		}
	})
}

func FuzzCronJob(f *testing.F) {
	seeds(f, "testdata/cronjob/*.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		var res importer.Result
		importer.CronJob("cronjob.yaml", text, &res)
		readsBack(t, &res)
	})
}

func FuzzDkron(f *testing.F) {
	seeds(f, "testdata/dkron/*.json")
	f.Fuzz(func(t *testing.T, text string) {
		var res importer.Result
		importer.Dkron("jobs.json", text, &res)
		readsBack(t, &res)
	})
}

func FuzzSystemd(f *testing.F) {
	for _, name := range []string{"apt-daily", "fstrim", "odd", "once"} {
		f.Add(read(f, "testdata/systemd/"+name+".timer"), read(f, "testdata/systemd/"+name+".service"))
	}
	f.Fuzz(func(t *testing.T, timer, service string) {
		var res importer.Result
		importer.Systemd(map[string]string{"backup.timer": timer, "backup.service": service}, "UTC", &res)
		readsBack(t, &res)
	})
}
