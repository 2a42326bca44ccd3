package network

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/history"
)

// Diaries are files, one for each host, in which commands note their start and end, outside of rota.
type Diaries struct {
	t    testing.TB
	dir  string
	host map[string]string // host by the name of its file
}

// NewDiaries creates an empty diary for each host of a lab.
func NewDiaries(t testing.TB, l *Lab) *Diaries {
	t.Helper()
	d := &Diaries{t: t, dir: t.TempDir(), host: make(map[string]string)}
	for _, h := range l.hosts {
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join("/run/netns", h.namespace), &st); err != nil {
			t.Fatal(err)
		}
		d.host[fmt.Sprintf("net:[%d]", st.Ino)] = h.Name
	}
	return d
}

// Shell returns the text of a job that takes a time, and writes a line before and after it. The job finds its host by its
// namespace.
func (d *Diaries) Shell(takes time.Duration) string {
	const told = "$ROTA_RUN $ROTA_ATTEMPT $ROTA_FENCING_TOKEN $ROTA_IDEMPOTENCY_KEY $(date +%s%N)"
	return fmt.Sprintf(`f="%s/$(readlink /proc/self/ns/net)"; echo "begin %s" >> "$f"; sleep %.0f; echo "end %s" >> "$f"`,
		d.dir, told, takes.Seconds(), told)
}

// entry is one execution, in the form that each of the two judges needs.
type entry struct {
	Execution
	effect history.Effect
}

// read returns all entries so far, by job.
func (d *Diaries) read() map[string][]entry {
	d.t.Helper()
	all := make(map[string][]entry)
	for file, host := range d.host {
		b, err := os.ReadFile(filepath.Join(d.dir, file))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			d.t.Fatal(err)
		}
		open := make(map[string]int) // by the note of the start, which is unique on a host
		for line := range strings.Lines(string(b)) {
			name, e, err := parseEntry(line, host)
			if err != nil {
				d.t.Errorf("the diary of %s has the line %q: %v", host, line, err)
				continue
			}
			told := strings.Join(strings.Fields(line)[1:5], " ")
			if i, ok := open[told]; ok && strings.HasPrefix(line, "end ") {
				all[name][i].Ended, all[name][i].effect.Ended, all[name][i].effect.Well = e.Began, e.Began, true
				continue
			}
			open[told] = len(all[name])
			all[name] = append(all[name], e)
		}
	}
	return all
}

func parseEntry(line, host string) (name string, e entry, err error) {
	f := strings.Fields(line)
	if len(f) != 6 {
		return "", entry{}, errors.New("want six words")
	}
	attempt, err1 := strconv.Atoi(f[2])
	token, err2 := strconv.ParseInt(f[3], 10, 64)
	nanos, err3 := strconv.ParseInt(f[5], 10, 64)
	at := time.Unix(0, nanos)
	name, _, _ = strings.Cut(f[1], "/")
	return name, entry{
		Execution: Execution{Job: name, Run: f[1], Host: host, Began: at},
		effect:    history.Effect{Job: name, Run: f[1], Attempt: attempt, Token: token, Key: f[4], Arrived: at},
	}, errors.Join(err1, err2, err3)
}
