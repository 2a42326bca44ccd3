package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// nextOutput is what `rota next` prints of many jobs: their slots to come, in the order of time.
type nextOutput struct {
	Slots []api.SlotView `json:"slots"`
	zones map[string]*time.Location
	n     int // how many slots are kept
}

// nextOfAll prints the next slots of all jobs, or of those in a file. It computes them on this machine.
func (c *cli) nextOfAll(ctx context.Context, f nextFlags) error {
	if f.timezone != "" || f.gap != "" || f.fold != "" {
		return usagef("--timezone, --gap and --fold belong to an expression; each job has its own")
	}
	from, err := c.fromFlag(f.from, time.Local)
	if err != nil {
		return err
	}
	out := nextOutput{[]api.SlotView{}, map[string]*time.Location{}, f.n}
	var notes []string
	if f.file != "" {
		err = out.addFile(c, f, from)
	} else {
		notes, err = out.addCluster(ctx, c, f.selector, from)
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		c.printErr("note: %s", note)
	}
	return c.print(out, func(p *page) { out.write(p) })
}

// addCluster adds the jobs of the cluster that are not paused. The notes say what the pauses leave out.
func (o *nextOutput) addCluster(ctx context.Context, c *cli, selector string, from time.Time) (notes []string, err error) {
	cl, err := c.client(readTimeout)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	jobs, err := cl.SelectJobs(ctx, selector)
	if err != nil {
		return nil, err
	}
	cluster, err := cl.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	if cluster.Paused != nil {
		notes = append(notes, allPaused)
	}
	var paused []string
	for i := range jobs {
		if jobs[i].Paused != nil {
			paused = append(paused, jobs[i].Name)
		} else if err := o.add(jobs[i].Name, jobs[i].Spec, from); err != nil {
			notes = append(notes, fmt.Sprintf("job %s has no slots, since its schedule cannot be read: %v", jobs[i].Name, err))
		}
	}
	if n := len(paused); n > 0 {
		const most = 5
		shown := strings.Join(paused[:min(n, most)], ", ")
		if n > most {
			shown += ", …"
		}
		notes = append(notes, fmt.Sprintf("%s without slots: %s", counted(n, "paused job"), shown))
	}
	return notes, nil
}

// addFile adds the jobs of a job file.
func (o *nextOutput) addFile(c *cli, f nextFlags, from time.Time) error {
	set, err := c.loadJobs([]string{f.file})
	if err != nil {
		return err
	}
	selector, err := job.ParseSelector(f.selector)
	if err != nil {
		return err
	}
	for name, d := range set.Jobs {
		if !selector.Matches(d.Spec.Labels) {
			continue
		}
		if err := o.add(name, &d.Spec, from); err != nil {
			return err
		}
	}
	return nil
}

// add adds the slots of one job after from that are among the first n of all. A step has none of its own.
func (o *nextOutput) add(name string, spec *job.Spec, from time.Time) error {
	s, err := policy.When(name, spec)
	if err != nil || s == nil {
		return err
	}
	if o.zones[name], err = time.LoadLocation(spec.Timezone); err != nil {
		return err
	}
	for at, ok := s.Next(from); ok; at, ok = s.Next(at) {
		slot := api.SlotView{Job: name, Slot: at}
		i, _ := slices.BinarySearchFunc(o.Slots, slot, compareSlots)
		if i >= o.n {
			break
		}
		o.Slots = slices.Insert(o.Slots, i, slot)
		o.Slots = o.Slots[:min(o.n, len(o.Slots))]
	}
	return nil
}

func compareSlots(a, b api.SlotView) int {
	return cmp.Or(a.Slot.Compare(b.Slot), strings.Compare(a.Job, b.Job))
}

func (o *nextOutput) write(p *page) {
	if len(o.Slots) == 0 {
		p.line("no slots")
		return
	}
	rows := [][]any{{"SLOT", "UTC", "IN", "JOB"}}
	for _, s := range o.Slots {
		rows = append(rows, append(slotRow(p, s.Slot, o.zones[s.Job]), s.Job))
	}
	p.table(rows)
}
