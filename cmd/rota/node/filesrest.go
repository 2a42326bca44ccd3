package node

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Files that are written in place are half written for a while, and the first half of a job file is often one as well: one that
// lacks jobs. So files have to rest before they are read, and longer before jobs are removed.
const (
	settleSwap = 250 * time.Millisecond // others took their place, which is done at once
	settle     = time.Second
	settleGone = 3 * time.Second // and they lack jobs that there were
	settleMost = 3 * time.Second // more than that: it is told that they do not rest
	settleLook = 50 * time.Millisecond
)

// rests waits until nobody writes the files any more. written: they are known to be written in place. false: they do not rest,
// and must not be read yet.
func (f *files) rests(ctx context.Context, written bool) bool {
	rested := rest(ctx, f.path, f.stamp, written, f.drops)
	if ctx.Err() != nil {
		return false // whoever stops does not know whether they would have rested
	}
	if !rested && !f.moving {
		f.node.log.Warn("job files change and change, they are not read before they rest", "path", f.path)
	}
	if f.moving = !rested; f.moving {
		f.show() // now: who writes them keeps run busy
	}
	return rested
}

// rest waits until the files at path, which looked like before, have not changed for as long as they have to, but not for much
// longer than that. false: they still change, or ctx has ended.
func rest(ctx context.Context, path string, before picture, written bool, drops func() bool) bool {
	began := time.Now()
	since := began
	asked, gone := false, false // asked whether jobs are gone, for what before shows
	for {
		now := take(path)
		if !now.same(before) {
			written = written || !before.swapped(now)
			before, since, asked, gone = now, time.Now(), false, false
		}
		calm := time.Since(since)
		if written && calm >= settle && !asked {
			asked, gone = true, drops()
		}
		need := settleSwap
		switch {
		case gone:
			need = settleGone
		case written:
			need = settle
		}
		switch {
		case calm >= need:
			return true
		case time.Since(began) >= need+settleMost:
			return false
		}
		if pause(ctx, settleLook); ctx.Err() != nil {
			return false
		}
	}
}

// lacks is drops for a process that begins, and knows only what the store has told it by now. Files that were written just before
// the start are put in force at once if nothing is removed by them.
func (f *files) lacks(ctx context.Context) bool {
	return f.node.catchUp(ctx) != nil || f.drops()
}

// drops says whether the files, as they are, lack jobs that are in force.
func (f *files) drops() bool {
	set, err := config.LoadJobs([]string{f.path})
	if err != nil {
		return false // read tells what is wrong with them
	}
	for _, j := range f.node.mirror.Jobs() {
		if _, there := set.Jobs[j.Name]; !there && j.Origin.Kind == job.OriginFile {
			return true
		}
	}
	return false
}
