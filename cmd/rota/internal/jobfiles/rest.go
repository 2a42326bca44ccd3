package jobfiles

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// How long files must stay unchanged before they are read. A file that is written in place is incomplete for a while. The first
// half of a job file is often a valid job file with fewer jobs. So the time is longer if the files would delete jobs.
const (
	restSwapped  = 250 * time.Millisecond // if all changes were atomic replacements
	restWritten  = time.Second            // after a file was written in place
	restDeleting = 3 * time.Second        // after a file was written in place, if jobs that are in force are missing
	restPatience = 3 * time.Second        // added to the times above; if the files still change after that, they count as unstable
	restPoll     = 50 * time.Millisecond
)

// settle waits until the files stop changing, and reports whether they may be read. written is true if a file is known to be
// written in place.
func (f *Files) settle(ctx context.Context, written bool) bool {
	rested := rest(ctx, f.cfg.Path, f.stamp, written, f.deletesKnown)
	if ctx.Err() != nil {
		return false
	}
	if !rested && !f.unstable {
		f.log.Warn("job files keep changing and are not read until they rest", "path", f.cfg.Path)
	}
	if f.unstable = !rested; f.unstable {
		f.show() // show it now, because further changes may keep Run busy
	}
	return rested
}

// rest waits until the files at path have stayed unchanged for the required time, and for at most restPatience longer. before is
// the last snapshot of the files. deletes reports whether jobs in force are missing from them. rest returns false if the files
// still change, or if ctx has ended.
func rest(ctx context.Context, path string, before snapshot, written bool, deletes func() bool) bool {
	began := time.Now()
	since := began
	asked, deleting := false, false // whether deletes was called for this snapshot, and the result of the call
	for {
		now := takeSnapshot(path)
		if !now.same(before) {
			written = written || !before.swapped(now)
			before, since, asked, deleting = now, time.Now(), false, false
		}
		rested := time.Since(since)
		if written && rested >= restWritten && !asked {
			asked, deleting = true, deletes()
		}
		need := restSwapped
		switch {
		case deleting:
			need = restDeleting
		case written:
			need = restWritten
		}
		switch {
		case rested >= need:
			return true
		case time.Since(began) >= need+restPatience:
			return false
		}
		if loop.Pause(ctx, restPoll); ctx.Err() != nil {
			return false
		}
	}
}

// deletes is deletesKnown for the start of a process, when the mirror may still be empty. It lets files that were written just
// before the start take effect at once if they delete nothing.
func (f *Files) deletes(ctx context.Context) bool {
	f.blind = f.replica.CatchUp(ctx) != nil
	return f.deletesKnown()
}

// deletesKnown reports whether jobs in force are missing from the present files, or may be.
func (f *Files) deletesKnown() bool {
	if f.blind {
		return true
	}
	set, err := config.LoadJobs([]string{f.cfg.Path})
	if err != nil {
		return false // load reports the mistakes
	}
	for _, j := range f.mirror.Jobs() {
		if _, there := set.Jobs[j.Name]; !there && j.Origin.Kind == job.OriginFile {
			return true
		}
	}
	return false
}
