package config

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func specs(s *Set) map[string]job.Spec {
	m := map[string]job.Spec{}
	for name, d := range s.Jobs {
		m[name] = d.Spec
	}
	return m
}

func parse1(t *testing.T, text string) *Set {
	t.Helper()
	s, err := ParseJobs("jobs.yaml", []byte(text))
	if err != nil {
		t.Fatalf("parse:\n%v", err)
	}
	return s
}

func TestMistakesAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			set, err := ParseJobs(name+".yaml", text)
			var list Errors
			if set != nil || !errors.As(err, &list) || len(list) == 0 {
				t.Fatalf("got %v, %v; want Errors", set, err)
			}
			for _, e := range list {
				if e.Line == 0 || e.Col == 0 || e.Hint == "" {
					t.Errorf("no place or no hint: %v", e)
				}
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", []byte(err.Error()+"\n"))
		})
	}
}

func TestGoodFilesAreWrittenAndReadAgain(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, err := LoadJobs([]string{file})
			if err != nil {
				t.Fatal(err)
			}
			text, err := MarshalSet(specs(set), bounds(set))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", text)
			again := parse1(t, string(text))
			if diff := cmp.Diff(specs(set), specs(again)); diff != "" {
				t.Errorf("written and read again it differs (-before +after):\n%s", diff)
			}
			if again.Hash != set.Hash {
				t.Errorf("hash %s, want %s", again.Hash, set.Hash)
			}
		})
	}
}

// YAML counts a new line after some characters, and editors do not. So a file may have them only with a backslash.
func TestATextWithUnusualLineEndsIsWrittenAndReadAgain(t *testing.T) {
	for _, text := range []string{"a\u2028b\nc", "a\u2029\nb\n", "a\u0085\nb", "\u2028", "pay \u202egro", "a\n\u2066b\n\"\\"} {
		want := job.Spec{Shell: text, Description: text, Env: map[string]string{"A": text}}.WithDefaults()
		written, err := Marshal(map[string]job.Spec{"a": want})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, parse1(t, string(written)).Jobs["a"].Spec); diff != "" {
			t.Errorf("%q (-want +got):\n%s\nwritten:\n%s", text, diff, written)
		}
		if bytes.ContainsAny(written, turns) {
			t.Errorf("%q: the file shows another text than it has: %q", text, written)
		}
	}
}

func bounds(set *Set) map[string]job.LimitSpec {
	all := map[string]job.LimitSpec{}
	for name, d := range set.Limits {
		all[name] = d.Spec
	}
	return all
}

func TestDefinitionsCarryTheirPlace(t *testing.T) {
	got := parse1(t, "jobs:\n  # a comment\n  a:\n    shell: x\n").Jobs["a"]
	want := Definition{Name: "a", File: "jobs.yaml", Line: 3, Spec: job.Spec{Shell: "x"}.WithDefaults()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHashFollowsMeaningAlone(t *testing.T) {
	base := parse1(t, "jobs:\n  a: {shell: x, every: 1h}\n  b: {shell: y}\n")
	same := parse1(t, "# changed\nversion: 1\ndefaults: {overlap: skip}\njobs:\n  b:\n    shell: 'y'\n  a: {every: 60m, shell: \"x\"}\n")
	other := parse1(t, "jobs:\n  a: {shell: x, every: 2h}\n  b: {shell: y}\n")
	if base.Hash != same.Hash {
		t.Errorf("same meaning: hash %s, want %s", same.Hash, base.Hash)
	}
	if base.Hash == other.Hash {
		t.Errorf("another meaning has the same hash %s", other.Hash)
	}
}

func TestPayloadKeepsItsNumbersAndOrder(t *testing.T) {
	got := parse1(t, `jobs: {a: {shell: x, payload: {z: 1, y: 1.50, x: 0x1F, w: 12345678901234567890123, v: [~, true, "1", on, 2026-01-02], "5": {}}}}`).
		Jobs["a"].Spec.Payload
	want := `{"z":1,"y":1.50,"x":31,"w":12345678901234567890123,"v":[null,true,"1","on","2026-01-02"],"5":{}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTimesAreStoredInUTC(t *testing.T) {
	got := parse1(t, `jobs: {a: {shell: x, at: "2030-06-01T12:00:00+02:00"}}`).Jobs["a"].Spec.At
	if want := time.Date(2030, 6, 1, 10, 0, 0, 0, time.UTC); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzParseJobs(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := ParseJobs("jobs.yaml", text)
		if err != nil {
			var list Errors
			if !errors.As(err, &list) {
				t.Fatalf("got %T: %v", err, err)
			}
			for _, e := range list {
				if e.Msg == "" || len(e.Error()) > 4000 || e.Line > bytes.Count(text, []byte("\n"))+2 {
					t.Fatalf("bad error: %+v", e)
				}
			}
			return
		}
		written, err := MarshalSet(specs(set), bounds(set))
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseJobs("again.yaml", written)
		if err != nil {
			t.Fatalf("%v\nwritten:\n%s", err, written)
		}
		if diff := cmp.Diff(specs(set), specs(again)); diff != "" {
			t.Fatalf("%s\nwritten:\n%s", diff, written)
		}
	})
}

func TestACalendarOfAJobWithoutAScheduleMayMoveSlots(t *testing.T) {
	parse1(t, `jobs: {a: {calendar: {on: office, weekdays: [mon-fri], else: next}, shell: x}}`)
}

func TestDefaultsAddMissingKeys(t *testing.T) {
	const defaults = "defaults:\n  retry: {backoff: constant}\n  env: {A: '1', B: '2'}\n  dst: {gap: skip}\n  workers: {disk: ssd}\njobs:\n"
	for name, tt := range map[string]struct {
		job  string
		want job.Spec
	}{
		"key by key": {
			"{shell: x, env: {B: '3'}, retry: {max: 2}, dst: {fold: last}}",
			job.Spec{
				Shell: "x", Env: map[string]string{"A": "1", "B": "3"}, Workers: map[string]string{"disk": "ssd"},
				Retry: &job.Retry{Max: 2, Backoff: job.BackoffConstant}, DST: &job.DST{Gap: "skip", Fold: "last"},
			},
		},
		"not an empty mapping": {
			"{shell: x, env: {}, workers: {}}",
			job.Spec{Shell: "x", DST: &job.DST{Gap: "skip"}},
		},
		"not what an action has no use for": {
			"{handler: h}",
			job.Spec{Handler: "h", DST: &job.DST{Gap: "skip"}, Workers: map[string]string{"disk": "ssd"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse1(t, defaults+"  a: "+tt.job+"\n").Jobs["a"].Spec
			if diff := cmp.Diff(tt.want.WithDefaults(), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
