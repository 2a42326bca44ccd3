package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// manyJobs returns a job file of count jobs, with the keys that jobs usually have.
func manyJobs(count int) []byte {
	var b strings.Builder
	b.WriteString("version: 1\ndefaults: {timezone: Europe/Berlin, timeout: 10m}\nlimits: {database: {concurrent: 4}}\njobs:\n")
	for i := range count {
		fmt.Fprintf(&b, "  job-%d:\n    description: Job %d\n    schedule: \"%d 2 * * *\"\n    retry: {max: 3, min: 5s}\n"+
			"    limits: [database]\n    env: {A: x, B: \"${env:B}\"}\n    command: [/usr/bin/backup, --to, /srv]\n", i, i, i%60)
	}
	return []byte(b.String())
}

func BenchmarkParseJobs(b *testing.B) {
	text := manyJobs(5000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseJobs("jobs.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	set, err := ParseJobs("jobs.yaml", manyJobs(1000))
	if err != nil {
		b.Fatal(err)
	}
	jobs := map[string]job.Spec{}
	for name, d := range set.Jobs {
		jobs[name] = d.Spec
	}
	for b.Loop() {
		if _, err := Marshal(jobs); err != nil {
			b.Fatal(err)
		}
	}
}
