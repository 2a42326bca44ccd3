package attention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Item is one thing that needs attention.
type Item struct {
	Kind  string    `json:"kind" doc:"One of the kinds that the reference lists"`
	Job   string    `json:"job,omitempty"`
	Run   string    `json:"run,omitempty"`
	Node  string    `json:"node,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Text  string    `json:"text" doc:"One sentence"`
	Next  string    `json:"next,omitempty" doc:"The command to run next"`
}

// The kinds of items, the most urgent first. Lists are in this order.
const (
	NoLeader    = "no_leader"
	NotReady    = "not_ready"
	StoreFull   = "store_full"
	Member      = "member"
	Stale       = "stale"
	Lost        = "lost"
	Failing     = "failing"
	Ahead       = "ahead"
	Late        = "late"
	Breaker     = "breaker"
	Approval    = "approval"
	NoWorker    = "no_worker"
	Broken      = "broken"
	Hook        = "hook"
	Quarantined = "quarantined"
	Pressure    = "pressure"
	Output      = "output"
	Notifier    = "notifier"
	Files       = "files"
	AuthFile    = "auth_file"
	OpenID      = "openid"
	Certificate = "certificate"
	TLSOptional = "tls_optional"
	Version     = "version"
	Paused      = "paused"
)

// Kinds returns all kinds, the most urgent first.
func Kinds() []string {
	return []string{NoLeader, NotReady, StoreFull, Member, Stale, Lost, Failing, Ahead, Late, Breaker, Approval, NoWorker,
		Broken, Hook, Quarantined, Pressure, Output, Notifier, Files, AuthFile, OpenID, Certificate, TLSOptional, Version, Paused}
}

// Sort puts the most urgent items first. Items of one kind are in the order of their names.
func Sort(items []Item) {
	kinds := Kinds()
	slices.SortStableFunc(items, func(a, b Item) int {
		if d := slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind); d != 0 {
			return d
		}
		return strings.Compare(a.Job+"/"+a.Run+"/"+a.Node, b.Job+"/"+b.Run+"/"+b.Node)
	})
}

// Facts holds the records of all jobs, in any order.
type Facts struct {
	Jobs    []*job.Job // at least those that Concerns accepts
	Gate    job.Gate
	Workers []*job.Worker
	Runs    []*job.Run
	Cursors []*job.Cursor // at least those that IsAhead accepts
	Now     time.Time
}

// Concerns returns a function that reports whether OfJobs reads a job. Of a million jobs, few have something to report. All other
// facts must be known.
func (f *Facts) Concerns() func(j *job.Job) bool {
	named, workers := map[string]bool{}, awake(f.Workers)
	for _, r := range f.Runs {
		named[r.Job] = true
	}
	for _, c := range f.Cursors {
		named[c.Job] = true
	}
	var accepts *job.Spec // the last spec that a worker accepts: many jobs share one
	return func(j *job.Job) bool {
		if j.Spec != accepts && accepted(j.Spec, workers) {
			accepts = j.Spec
		}
		return j.Spec != accepts || j.Paused != nil || len(j.Spec.Hooks) > 0 || named[j.Name]
	}
}

// How long something is normal.
const (
	lateAfter = 30 * time.Second // a run that has been due for longer is late
	lostFor   = 24 * time.Hour   // a lost run needs attention for so long

	// aheadBy is how far a cursor may be ahead. Slots are decided up to a minute early, and clocks differ by up to a minute.
	aheadBy = 5 * time.Minute
)

// OfJobs returns what needs attention about jobs and their runs, in the order of Sort.
func OfJobs(f Facts) (items []Item) {
	if p := f.Gate.Paused; p != nil {
		items = append(items, Item{
			Kind: Paused, Since: p.At, Text: "All jobs are paused" + by(p) + ".", Next: "rota resume --all",
		})
	}
	histories, ahead, workers := histories(f), ahead(f), awake(f.Workers)
	alone := Item{Kind: NoWorker, Next: "rota workers -o wide"} // of all jobs whose runs wait because no worker is present
	idle, noRuns := 0, new(history)
	for _, j := range f.Jobs {
		h := cmp.Or(histories[j.Name], noRuns)
		if j.Paused != nil {
			items = append(items, Item{
				Kind: Paused, Job: j.Name, Since: j.Paused.At, Text: "Job " + j.Name + " is paused" + by(j.Paused) + ".",
				Next: "rota resume " + j.Name,
			})
		}
		if c := ahead[j.Name]; c != nil {
			items = append(items, Item{
				Kind: Ahead, Job: j.Name, Next: "rota explain " + j.Name + " now",
				Text: "No slot of job " + j.Name + " runs until " + c.After.UTC().Format(time.RFC3339) + ", because its cursor is there: " +
					"a clock was ahead, or somebody wrote the cursor.",
			})
		}
		items = append(items, h.failing(j.Name)...)
		items = append(items, h.lost(f.Now)...)
		if r := h.noWorker; r != nil && len(f.Workers) == 0 {
			if idle++; idle == 1 || r.Due.Before(alone.Since) {
				alone.Since = r.Due
			}
			h.noWorker = nil
		}
		items = append(items, h.waiting(j, f)...)
		if h.noWorker == nil && j.Paused == nil && !accepted(j.Spec, workers) {
			items = append(items, Item{
				Kind: NoWorker, Job: j.Name, Next: "rota workers -o wide",
				Text: "No worker that is present accepts job " + j.Name + needs(j.Spec, ", which needs ") + ".",
			})
		}
	}
	if idle > 0 {
		alone.Text = "No worker is present: runs of " + counted(idle, "job") + " wait."
		items = append(items, alone)
	}
	items = append(items, hooks(f.Jobs)...)
	Sort(items)
	return items
}

// IsAhead reports whether a cursor is further in the future than a leader puts it.
func IsAhead(c *job.Cursor, now time.Time) bool { return c.After.After(now.Add(aheadBy)) }

// ahead returns the cursors that are in the future, by job. The slots up to a cursor count as decided, so they never run.
func ahead(f Facts) map[string]*job.Cursor {
	list := map[string]*job.Cursor{}
	for _, c := range f.Cursors {
		if IsAhead(c, f.Now) {
			list[c.Job] = c
		}
	}
	return list
}

// accepted reports whether a worker accepts a job. Without any worker, the cluster lacks workers and not this job.
func accepted(s *job.Spec, workers []*job.Worker) bool {
	return len(workers) == 0 || slices.ContainsFunc(workers, func(w *job.Worker) bool { return w.Accepts(s) })
}

// awake returns workers as if none of them drained or had a kind away.
func awake(workers []*job.Worker) (list []*job.Worker) {
	for _, w := range workers {
		list = append(list, w.Ready())
	}
	return list
}

// needs says after a phrase what a job asks of a worker; "" if it asks for nothing.
func needs(s *job.Spec, phrase string) string {
	list := s.Needs()
	if len(list) == 0 {
		return ""
	}
	return phrase + strings.Join(list, ", ")
}

func by(p *job.Pause) (text string) {
	if p.By != "" {
		text += " by " + p.By
	}
	if p.Reason != "" {
		text += ": " + strings.TrimRight(p.Reason, ".")
	}
	return text
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
