package web

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// classOf returns the color class of a state.
func classOf(s job.State) string { return looks[string(s)].class }

// minuteChart shows the runs that ended in each minute.
type minuteChart struct {
	Bars  []chartBar
	Max   int
	Total int
	From  time.Time
}

// chartBar is a rectangle of a chart.
type chartBar struct {
	Class               string
	X, Y, Width, Height float64
	Title, Link         string
}

// The size of a chart in units of its view box.
const (
	minuteWidth  = 10
	minuteHeight = 80
)

// chartOf stacks the outcomes of each minute, with failures below.
func chartOf(minutes []api.MinuteView) (c minuteChart) {
	groups := []struct {
		class, words string
		states       []job.State
	}{
		{"bad", "failed", []job.State{job.Failed, job.TimedOut, job.Lost}},
		{"off", "skipped or canceled", []job.State{job.Skipped, job.Canceled}},
		{"ok", "succeeded", []job.State{job.Succeeded}},
	}
	for i, m := range minutes {
		if i == 0 {
			c.From = m.At
		}
		sum := 0
		for _, n := range m.Counts {
			sum += n
		}
		c.Max, c.Total = max(c.Max, sum), c.Total+sum
	}
	for i, m := range minutes {
		y := float64(minuteHeight)
		for _, g := range groups {
			n := 0
			for _, s := range g.states {
				n += m.Counts[s]
			}
			if n == 0 {
				continue
			}
			h := math.Max(2, float64(n)*(minuteHeight-2)/float64(c.Max))
			y -= h
			c.Bars = append(c.Bars, chartBar{
				Class: g.class, X: float64(i * minuteWidth), Y: round(y), Width: minuteWidth - 2, Height: round(h),
				Title: fmt.Sprintf("%s: %d %s", m.At.UTC().Format("15:04 UTC"), n, g.words),
			})
		}
	}
	return c
}

func round(x float64) float64 { return math.Round(x*10) / 10 }

// strip is a bar for each of the latest runs of a job. To keep long lists of jobs short, all bars of a color are one path.
type strip struct {
	Paths []stripPath
	Words string
	Width int
}

type stripPath struct{ Class, D string }

const (
	stripBar    = 6
	stripHeight = 24
)

// stripOf draws the runs. The height of a bar shows how long its run took, compared with the longest.
func stripOf(runs []api.RecentRun, n int) strip {
	longest := 0.0
	for _, r := range runs {
		longest = math.Max(longest, r.Seconds)
	}
	paths := map[string]*strings.Builder{}
	counts := map[string]int{}
	for i, r := range runs {
		h := 4
		if longest > 0 {
			h = 4 + int(max(0, r.Seconds)/longest*(stripHeight-4)) // clocks differ
		}
		class := classOf(r.State)
		if class == "bad" {
			h = stripHeight // a failure is always visible
		}
		if paths[class] == nil {
			paths[class] = &strings.Builder{}
		}
		x := (n - len(runs) + i) * (stripBar + 2)
		fmt.Fprintf(paths[class], "M%d %dv-%dh%dv%dz", x, stripHeight, h, stripBar, h)
		counts[looks[string(r.State)].words]++
	}
	s := strip{Width: n*(stripBar+2) - 2}
	for _, class := range []string{"ok", "bad", "off", "run", "warn"} {
		if p := paths[class]; p != nil {
			s.Paths = append(s.Paths, stripPath{class, p.String()})
		}
	}
	var words []string
	for _, w := range []string{"succeeded", "failed", "timed out", "lost", "canceled", "skipped", "running", "armed", "waiting"} {
		if n := counts[w]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, w))
		}
	}
	s.Words = fmt.Sprintf("latest %s: %s", plural(len(runs), "run"), strings.Join(words, ", "))
	if len(runs) == 0 {
		s.Words = "no run yet"
	}
	return s
}

// wasLate says whether the latest ended run began late, and by how long; "" if it did not. runs has the oldest first.
func wasLate(runs []api.RecentRun) string {
	for _, r := range slices.Backward(runs) {
		switch {
		case !r.State.Terminal() || r.State == job.Skipped:
			continue
		case !r.Late:
			return ""
		case r.LateBy >= 1:
			return "late by " + roughText(time.Duration(r.LateBy*float64(time.Second)))
		}
		return "late"
	}
	return ""
}

// success returns the share of runs that succeeded among those that ended with an outcome, in percent; "" if there are none.
func success(runs []api.RecentRun) string {
	good, all := 0, 0
	for _, r := range runs {
		switch {
		case r.State == job.Succeeded:
			good, all = good+1, all+1
		case r.State.IsFailure():
			all++
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d %%", good*100/all)
}

// durations returns how long the successful runs took, sorted.
func durations(runs []api.RunView) (list []time.Duration) {
	for i := range runs {
		if r := &runs[i]; r.State == job.Succeeded && !r.Started.IsZero() {
			list = append(list, r.Finished.Sub(r.Started))
		}
	}
	slices.Sort(list)
	return list
}

// percentile returns the value below which p percent of a sorted list lie.
func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[min(len(list)-1, len(list)*p/100)]
}

// runChart shows how long the latest runs of a job took. Each bar leads to its run.
type runChart struct {
	Bars    []chartBar
	Longest time.Duration
	Width   int
}

const (
	runBar    = 12
	runHeight = 72
)

// runChartOf draws runs, of which the newest is first.
func runChartOf(runs []api.RunView, now time.Time, n int) runChart {
	runs = runs[:min(n, len(runs))]
	c := runChart{Width: len(runs) * (runBar + 3)}
	took := func(r *api.RunView) time.Duration {
		switch {
		case r.Started.IsZero():
			return 0
		case r.Finished.IsZero():
			return now.Sub(r.Started)
		}
		return r.Finished.Sub(r.Started)
	}
	for i := range runs {
		c.Longest = max(c.Longest, took(&runs[i]))
	}
	for i := range runs {
		r := &runs[len(runs)-1-i]
		h := 6.0
		if c.Longest > 0 {
			h = math.Max(6, float64(took(r))/float64(c.Longest)*runHeight)
		}
		title := fmt.Sprintf("%s UTC: %s", r.Slot.UTC().Format(longTime), looks[string(r.State)].words)
		if d := took(r); d > 0 {
			title += ", took " + spanText(d)
		}
		if r.Reason != "" {
			title += ": " + r.Reason
		}
		c.Bars = append(c.Bars, chartBar{
			Class: classOf(r.State), X: float64(i * (runBar + 3)), Y: round(runHeight + 2 - h), Width: runBar, Height: round(h),
			Title: title, Link: runLink(r.Ref),
		})
	}
	return c
}

// stripHTML draws the latest runs of a job in one line.
func stripHTML(runs []api.RecentRun) template.HTML {
	s := stripOf(runs, 30)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`,
		s.Width, stripHeight, s.Width, stripHeight, template.HTMLEscapeString(s.Words))
	for _, p := range s.Paths {
		fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, p.Class, p.D)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}
