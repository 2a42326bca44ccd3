package runbooks

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// load is the jobs of a cluster under test, and what they have done. Each run of a job adds a line to the ledger.
type load struct {
	m      *machines
	ledger string

	// If the store went back, the slots from the backup until its acceptance need not run. Those near the backup may run twice.
	backup, accepted time.Time
}

// newLoad returns the load of a test.
func (m *machines) newLoad() *load {
	return &load{m: m, ledger: filepath.Join(m.t.TempDir(), "ledger")}
}

// jobs is the job file of all replicas. more has further jobs, indented.
func (l *load) jobs(more string) string {
	return fmt.Sprintf(`version: 1
jobs:
  tick: {every: 1s, missed: all, overlap: allow, shell: 'echo "$ROTA_JOB $ROTA_SLOT $ROTA_ATTEMPT" >>%[1]s'}
  tock: {every: 2s, missed: all, overlap: allow, shell: 'echo "$ROTA_JOB $ROTA_SLOT $ROTA_ATTEMPT" >>%[1]s'}
%[2]s`, l.ledger, more)
}

// entry is a line of the ledger: an attempt.
type entry struct {
	job, attempt string
	slot         time.Time
}

func (l *load) read() (entries []entry) {
	l.m.t.Helper()
	text, err := os.ReadFile(l.ledger)
	if err != nil && !os.IsNotExist(err) {
		l.m.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue // the slot of a manual run is empty
		}
		slot, err := time.Parse(time.RFC3339, f[1])
		if err != nil {
			l.m.t.Fatalf("line %q of the ledger: %v", line, err)
		}
		entries = append(entries, entry{f[0], f[2], slot})
	}
	return entries
}

// awaitMore waits until slots that are due after this call have run.
func (l *load) awaitMore() {
	l.m.t.Helper()
	now := time.Now()
	for deadline := now.Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		for _, e := range l.read() {
			if e.job == "tock" && e.slot.After(now.Add(time.Second)) {
				return
			}
		}
	}
	l.m.t.Fatal("no slot runs within a minute")
}

// judge waits for new slots, and checks that each slot since the first one has run once: missed 0, extra 0. A repeated attempt is
// not an extra run. Then it lets rota verify judge the store.
func (l *load) judge(host string) {
	t := l.m.t
	t.Helper()
	l.awaitMore()
	end := time.Now().Add(-time.Second)
	var wrong []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if wrong = l.wrong(end); len(wrong) == 0 {
			break
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d slots are wrong:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	t.Logf("%d runs, missed and extra: %d", len(l.read()), len(wrong))
	if out, code := l.m.sh(host, "rota verify --config /etc/rota/rota.yaml"); code != 0 {
		t.Errorf("rota verify: exit code %d\n%s", code, out)
	}
}

// wrong lists the slots up to end that did not run, and those that ran twice.
func (l *load) wrong(end time.Time) (wrong []string) {
	ran := map[entry]int{}
	slots := map[string]map[time.Time]bool{}
	for _, e := range l.read() {
		ran[e]++
		if slots[e.job] == nil {
			slots[e.job] = map[time.Time]bool{}
		}
		slots[e.job][e.slot] = true
	}
	for e, n := range ran {
		if n > 1 && e.slot.Sub(l.backup).Abs() > 5*time.Second {
			wrong = append(wrong, fmt.Sprintf("extra: %s %s attempt %s ran %d times", e.job, e.slot.Format(time.RFC3339), e.attempt, n))
		}
	}
	for job, every := range map[string]time.Duration{"tick": time.Second, "tock": 2 * time.Second} {
		var first time.Time
		for slot := range slots[job] {
			if first.IsZero() || slot.Before(first) {
				first = slot
			}
		}
		for slot := first; !slot.After(end); slot = slot.Add(every) {
			if !slots[job][slot] && (slot.Before(l.backup) || slot.After(l.accepted)) {
				wrong = append(wrong, fmt.Sprintf("missed: %s %s", job, slot.Format(time.RFC3339)))
			}
		}
	}
	sort.Strings(wrong)
	return wrong
}
