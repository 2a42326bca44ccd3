package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
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

func TestGoodFilesMeanWhatTheySay(t *testing.T) {
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

func TestLargeInputHasShortErrors(t *testing.T) {
	name := strings.Repeat("a", 1<<20)
	deep := strings.Repeat("[", 20_000)
	many := "jobs:\n" + strings.Repeat("  a: {foo: 1}\n", 20_000)
	line := "jobs: {" + strings.Repeat("a-: {shel: x}, ", 100_000) + "}"
	var zones strings.Builder
	zones.WriteString("jobs:\n")
	for i := range 50_000 {
		fmt.Fprintf(&zones, "  job-%d: {shel: x, timezone: Berlinn}\n", i)
	}
	large := "jobs: {}\n" + strings.Repeat("# comment\n", maxFile/10)
	for what, text := range map[string]string{
		"job name":    "jobs:\n  " + name + ": {shell: x}\n",
		"quoted name": "jobs:\n  \"" + strings.Repeat("ä", 1<<19) + "\": {shell: x}\n",
		"key":         "jobs:\n  a: {shell: x, \"" + name + "\": 1}\n",
		"zone":        "jobs:\n  a: {shell: x, timezone: \"" + name + "\"}\n",
		"expression":  "jobs:\n  a: {shell: x, schedule: \"" + name + "\"}\n",
		"url":         "jobs:\n  a: {http: {url: \"" + name + "\"}}\n",
		"number":      "jobs:\n  a: {shell: x, priority: " + strings.Repeat("1", 1<<20) + "}\n",
		"reference":   "jobs:\n  a: {shell: x, env: {A: \"${env:" + strings.Repeat("-", 1<<15) + "}\"}}\n",
		"depth":       "jobs: " + deep,
		"many errors": many,
		"one line":    line,
		"many zones":  zones.String(),
		"large file":  large,
	} {
		t.Run(what, func(t *testing.T) {
			began := time.Now()
			_, err := ParseJobs("jobs.yaml", []byte(text))
			if err == nil {
				t.Fatal("accepted")
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
			var list Errors
			if !errors.As(err, &list) {
				t.Fatalf("got %T, want Errors", err)
			}
			for _, e := range list {
				if e.Hint == "" {
					t.Errorf("no hint: %.300v", e)
				}
				if n := len(e.Error()); n > 2000 {
					t.Fatalf("a message of %d bytes: %.300s", n, e)
				}
			}
			if len(list) > maxErrors+1 {
				t.Errorf("%d errors", len(list))
			}
		})
	}
}

func TestWhatIsTooMuchHasAHint(t *testing.T) {
	list := func(count int, format string) string {
		parts := make([]string, count)
		for i := range parts {
			parts[i] = strings.ReplaceAll(format, "N", fmt.Sprint(i))
		}
		return strings.Join(parts, ", ")
	}
	for _, text := range []string{
		"command: [" + list(maxArguments+1, "x") + "]",
		"shell: " + strings.Repeat("x", maxText+1),
		"shell: x, description: " + strings.Repeat("x", maxDescription+1),
		"shell: x, env: {" + list(maxEntries+1, "VN: x") + "}",
		"shell: x, workers: {" + list(maxEntries+1, "vN: x") + "}",
		"shell: x, schedule: [" + list(101, "N 1 * * *") + "]",
		"shell: x, schedule: '@daily', exclude: [" + list(10_001, "2026-01-01") + "]",
		"shell: x, notify: [" + list(maxNotifiers+1, "a") + "]",
		"shell: x, payload: " + strings.Repeat("x", maxPayload),
	} {
		_, err := ParseJobs("jobs.yaml", []byte("jobs: {a: {"+text+"}}\nnotifiers: {a: {url: 'ntfy://host/topic'}}\n"))
		var list Errors
		if !errors.As(err, &list) {
			t.Errorf("%.40s: got %v, want Errors", text, err)
		}
		for _, e := range list {
			if e.Hint == "" {
				t.Errorf("%.40s: no hint: %.300v", text, e)
			}
		}
	}
}

func TestAPayloadIsNoLongerThanItCanBeTold(t *testing.T) {
	for action, most := range map[string]int{
		"shell: x": job.MaxToldPayload, "command: [x]": job.MaxToldPayload, "handler: x": maxPayload, "http: {url: 'http://x'}": maxPayload,
	} {
		for size, want := range map[int]bool{most: true, most + 1: false} {
			_, err := ParseJobs("jobs.yaml", []byte("jobs:\n  a:\n    "+action+"\n    payload: "+strings.Repeat("x", size-2)+"\n"))
			msg := fmt.Sprintf("jobs.yaml:4:14: payload has %d bytes as JSON, at most %d are allowed", size, most)
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), msg) {
				t.Errorf("%s with %d bytes: got %.200v, want it accepted: %v", action, size, err, want)
			}
		}
	}
}

func TestPayloadIsBounded(t *testing.T) {
	_, err := ParseJobs("jobs.yaml", []byte("jobs:\n  a:\n    shell: x\n    payload: "+strings.Repeat("x", maxPayload)+"\n"))
	if err == nil || !strings.Contains(err.Error(), "at most 262144 are allowed") {
		t.Errorf("got %.300v", err)
	}
}

// TestAJobAsAWholeIsBounded: what the store would refuse is refused before anything of the files is applied.
func TestAJobAsAWholeIsBounded(t *testing.T) {
	env := func(count int, rest string) string {
		var b strings.Builder
		b.WriteString("jobs:\n  a: {shell: x}\n  m:\n    shell: x\n    env:\n")
		for i := range count {
			fmt.Fprintf(&b, "      V%d: '%s'\n", i, strings.Repeat("&", 60_000)) // of which no escape is made in the store
		}
		return b.String() + rest + "  z: {shell: x}\n"
	}
	set := parse1(t, env(6, ""))
	if _, known := set.Jobs["m"]; !known {
		t.Error("six values of 60 KB are refused")
	}
	notifiers := "    notify: [" + strings.Join(strings.Split("abcde", ""), ", ") + "]\n"
	defined := "notifiers:\n"
	for _, name := range strings.Split("abcde", "") {
		defined += "  " + name + ": {url: 'ntfy://host/" + strings.Repeat("x", 8_100) + "'}\n"
	}
	for what, text := range map[string]string{"nine values": env(9, ""), "six and five notifiers": defined + env(6, notifiers)} {
		_, err := ParseJobs("jobs.yaml", []byte(text))
		var list Errors
		if !errors.As(err, &list) || len(list) != 1 || !strings.HasSuffix(list[0].Msg, "at most 393216 are allowed") || list[0].Hint == "" ||
			strings.Split(text, "\n")[list[0].Line-1] != "  m:" || list[0].Col != 3 {
			t.Errorf("%s: got %.300v", what, err)
		}
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

func ExampleErrors() {
	_, err := ParseJobs("jobs.yaml", []byte("jobs:\n  a:\n    shel: x\n"))
	fmt.Println(err)
	// Output:
	// jobs.yaml:3:5: unknown key "shel" in job "a"
	//     3 |     shel: x
	//       |     ^
	//    hint: did you mean shell?
}

func TestDefaultsFillWhatAJobLeavesOut(t *testing.T) {
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
