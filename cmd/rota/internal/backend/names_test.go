package backend

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// Of two changes at once that contradict each other, the second is refused, as if it came later.
func TestChangesAtOnceLeaveNoNameUndefined(t *testing.T) {
	const (
		alone = `{"command":["true"]}`
		after = `{"command":["true"],"after":["%s"]}`
		hooks = `{"command":["true"],"hooks":{"h%s":{"secret":"${file:/run/secrets/hook}"}}}`
	)
	b := inMemory(t)
	put := func(kind, name, text string) func() error {
		return func() error {
			_, _, err := b.Put(t.Context(), kind, name, []byte(text), api.Precondition{}, "me")
			return err
		}
	}
	remove := func(kind, name string) func() error {
		return func() error { return b.Delete(t.Context(), kind, name, api.Precondition{}, "me") }
	}
	n := 0
	for what, changes := range map[string]func(x, y string) [2]func() error{
		"two jobs that follow each other": func(x, y string) [2]func() error {
			b.define(t, x, alone)
			b.define(t, y, alone)
			return [2]func() error{put(api.KindJob, x, fmt.Sprintf(after, y)), put(api.KindJob, y, fmt.Sprintf(after, x))}
		},
		"a step, and the removal of its parent": func(x, y string) [2]func() error {
			b.define(t, x, alone)
			return [2]func() error{put(api.KindJob, y, fmt.Sprintf(after, x)), remove(api.KindJob, x)}
		},
		"a job, and the removal of its limit": func(x, y string) [2]func() error {
			if err := put(api.KindLimit, x, `{"concurrent":1}`)(); err != nil {
				t.Fatal(err)
			}
			return [2]func() error{put(api.KindJob, y, `{"command":["true"],"limits":["`+x+`"]}`), remove(api.KindLimit, x)}
		},
		"two jobs with one hook": func(x, y string) [2]func() error {
			return [2]func() error{put(api.KindJob, x, fmt.Sprintf(hooks, x)), put(api.KindJob, y, fmt.Sprintf(hooks, x))}
		},
	} {
		n++
		t.Run(what, func(t *testing.T) {
			for i := range 20 {
				var errs [2]error
				var tasks sync.WaitGroup
				for k, change := range changes(fmt.Sprintf("x%d-%d", n, i), fmt.Sprintf("y%d-%d", n, i)) {
					tasks.Go(func() { errs[k] = change() })
				}
				tasks.Wait()
				if (errs[0] == nil) == (errs[1] == nil) {
					t.Fatalf("got %v and %v, want one refusal", errs[0], errs[1])
				}
			}
		})
	}
}

func TestAConditionOnAMissingRecordIsExplained(t *testing.T) {
	_, _, err := inMemory(t).Put(t.Context(), api.KindJob, "new", []byte(`{"command":["true"]}`), api.Precondition{Exists: true}, "me")
	if err == nil || !strings.Contains(err.Error(), "job new does not exist") {
		t.Errorf("got %v, want that the job does not exist", err)
	}
}
