package planner_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

var update = flag.Bool("update", false, "write the output of the scripts into their files")

// TestScripts plays the scripts in testdata. A script is a list of blocks: commands, a line of dashes, and their output. See
// testdata/README.md.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s plays differently (-want +got):\n%s", file, diff)
			}
		})
	}
}

// TestWrongWorkerClocksChangeNothing plays the scripts with workers whose clocks are wrong. They write wrong times into the records.
func TestWrongWorkerClocksChangeNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, skew := range []time.Duration{45 * time.Second, -45 * time.Second, 24 * time.Hour, -24 * time.Hour} {
		for _, file := range files {
			t.Run(skew.String()+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				st := newStage(t)
				st.skew = skew
				if diff := gocmp.Diff(string(want), st.play(string(want))); diff != "" {
					t.Errorf("%s plays differently with worker clocks %v ahead (-want +got):\n%s", file, skew, diff)
				}
			})
		}
	}
}

// play returns the script with its present output. It calls each watch for every decision that takes effect.
func play(t *testing.T, script string, watch ...func(*stage, job.Decision)) string {
	t.Helper()
	return newStage(t).play(script, watch...)
}

func (st *stage) play(script string, watch ...func(*stage, job.Decision)) string {
	st.t.Helper()
	st.store.onCommit = func(d job.Decision) {
		st.showEvent(d)
		if r := d.Run; r != nil && r.Rev == 0 && r.State != job.Armed && r.Copies == nil && !r.Armed.IsZero() {
			st.t.Errorf("run %s is new and %s, but its record says that it was armed at %v", r.Name(), r.State, r.Armed)
		}
		for _, w := range watch {
			w(st, d)
		}
	}
	var out strings.Builder
	commands := true
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "----" && commands:
			out.WriteString("----\n" + st.printed())
			commands = false
		case line == "" || strings.HasPrefix(line, "#"):
			commands = true
			out.WriteString(line + "\n")
		case commands:
			out.WriteString(line + "\n")
			st.do(line)
		}
	}
	return out.String()
}

func TestScriptsExistForEveryPolicy(t *testing.T) {
	var names []string
	for _, m := range job.MissedPolicies() {
		names = append(names, "missed_"+string(m))
	}
	for _, o := range job.OverlapPolicies() {
		names = append(names, "overlap_"+string(o))
	}
	for _, d := range job.Deliveries() {
		names = append(names, "delivery_"+string(d))
	}
	for _, name := range names {
		if _, err := os.Stat("testdata/" + name + ".txt"); err != nil {
			t.Errorf("there is no script for %s: %v", name, err)
		}
	}
}
