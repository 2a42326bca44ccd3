package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/history"
)

// Ledger is a file to which commands append their attempt, outside of rota.
type Ledger struct {
	t    testing.TB
	path string
}

// NewLedger creates an empty ledger.
func NewLedger(t testing.TB) *Ledger {
	return &Ledger{t: t, path: filepath.Join(t.TempDir(), "ledger")}
}

// Shell returns the text of a shell job that writes a line before work and one after it. work may be empty. The exit code is
// that of the last write, so the job succeeds however work ends. Work that must fail has to call exit.
func (l *Ledger) Shell(work string) string {
	line := l.line()
	if work == "" {
		return fmt.Sprintf(line, "once")
	}
	return fmt.Sprintf(line, "begin") + "; " + work + "; " + fmt.Sprintf(line, "end")
}

// Working returns the text of a shell job that works for a time and writes a line at short intervals. If the job is killed, the
// last line shows the test how long it lived.
func (l *Ledger) Working(lasts time.Duration) string {
	const pace = 250 * time.Millisecond
	work := fmt.Sprintf(`for i in $(seq %d); do sleep %.2f; `, lasts/pace, pace.Seconds()) + fmt.Sprintf(l.line(), "alive") + "; done"
	return l.Shell(work)
}

// line returns the command that writes one line.
func (l *Ledger) line() string {
	return fmt.Sprintf(`echo "%%s $ROTA_RUN $ROTA_ATTEMPT $ROTA_FENCING_TOKEN $ROTA_IDEMPOTENCY_KEY $(date +%%%%s%%%%N)" >> %s`, l.path)
}

// Effects reads the ledger in the order of its lines.
func (l *Ledger) Effects() (effects []history.Effect) {
	l.t.Helper()
	b, err := os.ReadFile(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	type execution struct { // runs of several jobs may have the same token
		run   string
		token int64
	}
	open := make(map[execution]int)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 6 {
			l.t.Errorf("ledger has the line %q", line)
			continue
		}
		attempt, err1 := strconv.Atoi(f[2])
		token, err2 := strconv.ParseInt(f[3], 10, 64)
		nanos, err3 := strconv.ParseInt(f[5], 10, 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			l.t.Errorf("ledger has the line %q: %v", line, err)
			continue
		}
		at := time.Unix(0, nanos)
		this := execution{f[1], token}
		if f[0] == "end" || f[0] == "alive" {
			switch i, ok := open[this]; {
			case !ok:
				l.t.Errorf("ledger has a line without a beginning: %q", line)
			case f[0] == "alive":
				effects[i].Alive = at
			default:
				effects[i].Ended, effects[i].Well = at, true
			}
			continue
		}
		name, _, _ := strings.Cut(f[1], "/")
		e := history.Effect{Job: name, Run: f[1], Attempt: attempt, Token: token, Key: f[4], Arrived: at}
		if f[0] == "once" {
			e.Ended, e.Well = at, true
		}
		open[this] = len(effects)
		effects = append(effects, e)
	}
	return effects
}
