package job_test

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestChangedFieldsNamesFieldsAndHidesTheirValues(t *testing.T) {
	before := `{"name":"x","generation":1,"updated":"2026-01-01T00:00:00Z","spec":{"every":"1h","shell":"true","env":{"A":"literal"}}}`
	after := `{"name":"x","generation":2,"updated":"2026-02-01T00:00:00Z","paused":{"by":"a"},"spec":{"every":"2h","shell":"true"},"op":"q1-1"}`
	for _, tt := range []struct {
		name, before, after string
		want                string
	}{
		{"changed, added and removed", before, after, "env:- every:+- paused:+"},
		{"created", "", before, "env:+ every:+ shell:+"},
		{"the same", before, before, ""},
		{"bookkeeping alone", before, strings.Replace(before, `"generation":1`, `"generation":9`, 1), ""},
		{"unreadable before", "{", before, "env:+ every:+ shell:+"},
		{"a record without spec", `{"principal":"a"}`, `{"principal":"b"}`, "principal:+-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range job.ChangedFields("id", []byte(tt.before), []byte(tt.after)) {
				text := f.Name + ":"
				if f.After != "" {
					text += "+"
				}
				if f.Before != "" {
					text += "-"
				}
				if strings.Contains(f.Before+f.After, "literal") || f.Before == f.After {
					t.Errorf("%s: hashes %q and %q", f.Name, f.Before, f.After)
				}
				got = append(got, text)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
	one := job.ChangedFields("id-1", []byte(before), []byte(after))
	two := job.ChangedFields("id-2", []byte(before), []byte(after))
	if one[0].Before == two[0].Before {
		t.Error("hashes of two records can be compared")
	}
}

func TestAnAuditRecordBelongsToAJob(t *testing.T) {
	for _, tt := range []struct {
		kind         job.RecordKind
		object, want string
	}{
		{job.RecordJob, "backup", "backup"},
		{job.RecordRun, "backup/2026-01-01T00:00:00Z", "backup"},
		{job.RecordBackfill, "backup", "backup"},
		{job.RecordLimit, "db", ""},
		{job.RecordGate, "", ""},
	} {
		if got := (&job.Audit{Kind: tt.kind, Object: tt.object}).Job(); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.kind, tt.object, got, tt.want)
		}
	}
}
