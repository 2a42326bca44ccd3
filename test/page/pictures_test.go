package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// The pictures of the documentation, which `make pictures` makes.
const (
	pictureDir  = "../../docs/pictures"
	maxPicture  = 150_000 // bytes
	backupDelay = 11*time.Minute + 40*time.Second
)

// TestPictures shows a cluster with a history of two weeks. Its pictures answer the questions of a person who has never seen rota:
// did last night's backup run, was it late and why, and what is wrong right now? The cluster is real. The history is written to its
// store, since nobody waits for two weeks.
func TestPictures(t *testing.T) {
	b := newBrowser(t)
	c := cluster.Start(t, cluster.Config{Binary: binary, Jobs: map[string]job.Spec{
		"nightly-backup": {
			Description: "Dump the database", Schedule: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Shell: "true", Timeout: job.Duration(time.Hour),
			Retry: &job.Retry{Max: 2},
		},
		"restore-test":   {Description: "Restore the dump on a second machine", After: []job.After{{Job: "nightly-backup"}}, Shell: "true"},
		"report":         {Description: "Mail the numbers of the day", After: []job.After{{Job: "restore-test"}}, Shell: "true"},
		"sync-orders":    {Description: "Copy new orders to the warehouse", Schedule: []string{"*/10 * * * *"}, Shell: "true"},
		"export-ledger":  {Description: "Send the ledger to the bank", Schedule: []string{"15 * * * *"}, Shell: "false"},
		"rotate-logs":    {Schedule: []string{"5 0 * * *"}, Shell: "true"},
		"charge-cards":   {Description: "Charge what is due", Schedule: []string{"0 6 * * *"}, Shell: "true"},
		"refresh-search": {Description: "Build the index of the shop", Every: job.Duration(30 * time.Minute), Shell: "true"},
	}})
	night := writeHistory(t, c)
	failed := job.SlotID(time.Now().UTC().Truncate(time.Hour).Add(-45 * time.Minute))
	base := c.Replicas()[0].URL
	b.zone("Europe/Berlin")

	b.open(base + "/")
	b.reloadUntil(20*time.Second, "the history is shown", "document.querySelector('main').textContent.includes('export-ledger') && document.querySelectorAll('svg.strip').length >= 7 && document.querySelector('.verdict').textContent.includes(' runs in a row')")
	if got := b.text("[data-live=jobs]"); !strings.Contains(got, "late by 11 min") {
		t.Errorf("the overview does not say that the backup was late: %.600s", got)
	}
	if got := b.text(".verdict"); !strings.Contains(got, "export-ledger") {
		t.Errorf("the first line does not name the job that fails: %s", got)
	}
	b.page("overview", 1240, 1060)
	b.picture("full", "/")
	run := "/runs/nightly-backup/" + job.SlotID(night)
	b.open(base + run)
	for _, want := range []string{"late by 11m40s", "leader11 min 40 s", "succeeded"} {
		if got := b.text("main"); !strings.Contains(got, want) {
			t.Errorf("the page of the run lacks %q: %.600s", want, got)
		}
	}
	b.page("late-run", 1240, 720)
	b.picture("full", run)
	for path, name := range map[string]string{"/jobs/nightly-backup": "", "/timeline?span=1d": "timeline", "/jobs/report/workflow": "", "/runs": "", "/jobs": "", "/events": "", "/timeline/week": "",
		"/workers": "", "/limits": "", "/calendars": "", "/cluster": "", "/audit": "", "/runs/export-ledger/" + failed: "",
	} {
		b.open(base + path)
		if name != "" {
			b.page(name, 1240, 780)
		}
		b.picture("full", path)
	}
	if list := b.complained(); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
}

// reloadUntil opens the present page again and again, until an expression is true.
func (b *browser) reloadUntil(limit time.Duration, what, expression string) {
	b.t.Helper()
	cluster.Await(b.t, limit, what, func() bool {
		b.do(chromedp.Reload())
		ok, _ := b.eval("!!(" + expression + ")").(bool)
		return ok
	})
}

// page makes a picture of the documentation with -update. Otherwise it checks that the picture exists and is small.
func (b *browser) page(name string, width, height int64) {
	b.t.Helper()
	path := filepath.Join(pictureDir, name+".webp")
	if !*update {
		if info, err := os.Stat(path); err != nil || info.Size() > maxPicture {
			b.t.Errorf("%s: %v, want at most %d bytes: make pictures", path, err, maxPicture)
		}
		return
	}
	b.do(chromedp.EmulateViewport(width, height))
	quality := int64(82)
	image, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		if err != nil {
			return nil, err
		}
		return r.Data, nil
	})
	if err != nil || len(image) > maxPicture {
		b.t.Fatalf("picture %s: %d bytes, %v", name, len(image), err)
	}
	if err := os.WriteFile(path, image, 0o644); err != nil { //nolint:gosec // a file of the documentation
		b.t.Fatal(err)
	}
}

// writeHistory writes the runs of two weeks. It returns the slot of the latest backup, which was late.
func writeHistory(t *testing.T, c *cluster.Cluster) (night time.Time) {
	t.Helper()
	etcd, now := cluster.Dial(t, c.Endpoints()), time.Now().UTC()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	token, n := int64(1), 0
	put := func(name string, slot time.Time, delay, took time.Duration, change func(r *job.Run)) {
		t.Helper()
		token, n = token+1, n+1
		r := job.Run{
			Job: name, Kind: job.KindScheduled, State: job.Succeeded, ID: job.SlotID(slot), Slot: slot, Due: slot, Created: slot.Add(-2 * time.Second),
			Attempt: 1, Worker: fmt.Sprintf("q%d", n%3+1), Token: token, Generation: 1, Armed: slot.Add(delay), Started: slot.Add(delay + 4*time.Millisecond),
			Exit: new(int),
		}
		r.Finished = r.Started.Add(took)
		if change != nil {
			change(&r)
		}
		if r.State != job.Skipped {
			r.Attempts = []job.Attempt{{Number: r.Attempt, Worker: r.Worker, Token: r.Token, Started: r.Started, Finished: r.Finished, State: r.State, Reason: r.Reason, Exit: r.Exit}}
		}
		record, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		// A cluster that has just started may drop a write, for example when its etcd changes leaders.
		cluster.Await(t, 20*time.Second, "the record is written", func() bool {
			_, err := etcd.Put(t.Context(), cluster.Prefix+"/runs/"+r.Name(), string(record))
			return err == nil
		})
	}
	some := func(i int) time.Duration { return time.Duration(i*7919%97) * time.Second } // looks like chance, and is none
	local := now.In(berlin)
	for day := range 14 {
		slot := time.Date(local.Year(), local.Month(), local.Day()-day, 2, 30, 0, 0, berlin).UTC()
		if slot.After(now.Add(-time.Hour)) {
			continue
		}
		delay, late := time.Duration(0), false
		if night.IsZero() {
			night, delay, late = slot, backupDelay, true
		}
		took := 21*time.Minute + 5*some(day)
		put("nightly-backup", slot, delay, took, func(r *job.Run) {
			r.Late, r.Limits = late, nil
			r.Output = "dumping 214 tables\nverified 214 of 214 tables\nwrote /srv/backups/" + slot.Format("2006-01-02") + ".dump (41.7 GiB)\n"
		})
		put("restore-test", slot, delay+took, 9*time.Minute+some(day), func(r *job.Run) {
			if day == 5 {
				code := 1
				r.State, r.Reason, r.Exit = job.Failed, "exit code 1", &code
			}
		})
		put("report", slot, delay+took+11*time.Minute, 20*time.Second+some(day), func(r *job.Run) {
			if day == 5 {
				r.State, r.Reason = job.Skipped, "parent restore-test failed"
			}
		})
		if at := slot.Truncate(24 * time.Hour).Add(6 * time.Hour); at.Before(now.Add(-10 * time.Minute)) {
			put("charge-cards", at, 0, 4*time.Minute+some(day), nil)
		}
		put("rotate-logs", slot.Truncate(24*time.Hour).Add(5*time.Minute), 0, 2*time.Second+some(day)/9, nil)
	}
	for i := 1; i <= 40; i++ {
		slot := now.Truncate(10 * time.Minute).Add(-time.Duration(i) * 10 * time.Minute)
		put("sync-orders", slot, 0, 15*time.Second+some(i)/2, func(r *job.Run) {
			if i == 17 {
				r.State, r.Reason = job.TimedOut, "ran longer than its timeout of 2m"
			}
		})
		put("refresh-search", now.Truncate(30*time.Minute).Add(-time.Duration(i)*30*time.Minute), 0, 2*time.Minute+some(i), nil)
	}
	for i := 1; i <= 20; i++ {
		slot := now.Truncate(time.Hour).Add(15*time.Minute - time.Duration(i)*time.Hour)
		put("export-ledger", slot, 0, 8*time.Second+some(i)/20, func(r *job.Run) {
			if i <= 3 {
				code := 2
				r.State, r.Reason, r.Exit = job.Failed, "exit code 2: the bank refuses the certificate of the ledger", &code
			}
		})
	}
	return night
}
