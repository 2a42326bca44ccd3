package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/spf13/cobra"
)

func newStatusCommand(c *cli) *cobra.Command {
	watch := false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is wrong, since when, and what to do; and the cluster",
		Long: `Show what needs attention, the most urgent first, each with the next command. Then show the leader, the replicas, the
lag and the store.

The exit code is 7 if something needs attention, and 0 if nothing does. With --watch, show it again when it changes.`,
		Example: "  rota status\n  rota status -o wide\n  rota status --watch",
		Args:    takes(),
		RunE: c.reading(func(ctx context.Context, cl *client.Client, _ []string) error {
			if watch {
				return c.watchStatus(ctx, cl)
			}
			v, err := cl.Cluster(ctx)
			if err != nil {
				return err
			}
			if err := c.print(v, func(p *page) { writeCluster(p, &v) }); err != nil || len(v.Attention) == 0 {
				return err
			}
			return &codedError{code: exitAttention, err: errAttention}
		}),
	}
	addWatch(cmd, &watch)
	return cmd
}

// errAttention ends a command that has shown what needs attention. report prints nothing for it.
var errAttention = errors.New("something needs attention")

func writeCluster(p *page, v *api.ClusterView) {
	writeAttention(p, v.Attention)
	p.facts(
		"Cluster", fmt.Sprintf("%s, seen by %s, version %s", v.Name, v.Node, v.Version),
		"Ready", readyText(v),
		"Leader", leaderText(p, v.Leader),
		"Members", membersText(p, v),
		"Jobs", fmt.Sprint(v.Jobs),
		"Runs", runsText(&v.Runs),
		"Last hour", outcomesText(v.Runs.Hour),
		"Paused", pauseText(p, v.Paused),
		"Workers", fmt.Sprint(v.Workers),
		"Lag", lagText(v.LagSeconds),
		"Store", storeText(&v.Store),
		"Job files", filesText(p, v),
	)
	if len(v.Replicas) > 0 {
		p.line("")
		p.table(replicaRows(p, v))
	}
	for _, n := range v.Files.Notes {
		p.line("note: %s", printable(n))
	}
	for _, q := range v.Quarantined[:shownThings(p, len(v.Quarantined))] {
		key := printable(q.Key)
		p.line("\n%s", p.tint("quarantined: "+key, red))
		p.line("  %s (revision %d)", printable(q.Error), q.Revision)
		p.line("  everything else works; inspect it with `rota etcdctl get %s`, delete it with `rota etcdctl del %s`", key, key)
	}
	omitted(p, len(v.Quarantined), "record")
}

// shownThings returns how many of n things status shows: all to a program, the first twenty to a person.
func shownThings(p *page, n int) int {
	if p.full {
		return n
	}
	return min(n, 20)
}

// omitted says how many of n things of a kind status leaves out.
func omitted(p *page, n int, noun string) {
	if rest := n - shownThings(p, n); rest > 0 {
		p.line("and %s more: `rota status -o json` has them all", counted(rest, noun))
	}
}

// writeAttention lists what needs attention, and the next command for each.
func writeAttention(p *page, items []attention.Item) {
	if len(items) == 0 {
		return
	}
	p.line("%s", p.tint(counted(len(items), "thing")+" to attend to:", red))
	for _, i := range items[:shownThings(p, len(items))] {
		text := "- " + printable(i.Text)
		if !i.Since.IsZero() {
			text += " Since " + p.moment(i.Since) + "."
		}
		p.line("%s", text)
		if i.Next != "" {
			p.line("  next: %s", p.tint(printable(i.Next), cyan))
		}
	}
	omitted(p, len(items), "thing")
	p.line("")
}

// membersText returns how many members are present, which are not, and how many more may be lost.
func membersText(p *page, v *api.ClusterView) string {
	if len(v.Members) == 0 {
		return ""
	}
	present := 0
	var absent []string
	for _, m := range v.Members {
		if m.State == "present" {
			present++
			continue
		}
		text := m.Name + " has not answered yet"
		if !m.Since.IsZero() {
			text = m.Name + " is " + m.State + " since " + p.moment(m.Since)
		}
		absent = append(absent, text)
	}
	text := fmt.Sprintf("%d of %d present", present, len(v.Members))
	if len(absent) > 0 {
		text += "; " + strings.Join(absent, ", ")
	}
	switch {
	case v.Tolerated == nil:
	case *v.Tolerated < 0:
		text += "; the majority is lost"
	case *v.Tolerated == 0 && len(v.Members) > 1:
		text += "; no further loss is tolerated"
	case *v.Tolerated == 1:
		text += "; 1 more loss is tolerated"
	case *v.Tolerated > 1:
		text += fmt.Sprintf("; %d more losses are tolerated", *v.Tolerated)
	}
	return text
}

// lagText returns how late the leader dispatches; a dash if the replica does not know it.
func lagText(late *float64) string {
	if late == nil {
		return "-"
	}
	return formatDuration(seconds(*late))
}

func readyText(v *api.ClusterView) string {
	switch {
	case v.Ready:
		return "yes"
	case len(v.NotReady) == 0:
		return "no"
	}
	return "no: " + strings.Join(v.NotReady, "; ")
}

func leaderText(p *page, l *api.LeaderView) string {
	if l == nil {
		return "none: the cluster dispatches no runs"
	}
	text := l.Node
	if l.Addr != "" {
		text += " at " + l.Addr
	}
	return fmt.Sprintf("%s, term %d, since %s", text, l.Term, p.moment(l.Since))
}

func storeText(s *api.StoreView) string {
	text := fmt.Sprintf("revision %d", s.Revision)
	if s.DBSize > 0 {
		text += ", " + size(s.DBSize)
		if s.Quota > 0 {
			text += fmt.Sprintf(" of %s (%d%%)", size(s.Quota), 100*s.DBSize/s.Quota)
		}
	}
	if s.Full {
		text += ", OUT OF SPACE"
	}
	members := slices.Clone(s.Members)
	for i, m := range members {
		if slices.Contains(s.Unavailable, m) {
			members[i] += " (unavailable)"
		}
	}
	if len(members) > 0 {
		text += ", " + strings.Join(members, " ")
	}
	return text
}

func filesText(p *page, v *api.ClusterView) string {
	f := &v.Files
	if f.Hash == "" {
		return "none in force"
	}
	text := fmt.Sprintf("%s by %s, %s", shortHash(f.Hash), f.By, p.moment(f.At))
	switch {
	case f.Agree && len(v.Replicas) < 2:
		return text
	case f.Agree:
		return text + "; all replicas agree"
	case len(v.Replicas) < 2:
		return text + "; a newer version is not in force"
	}
	return text + "; the replicas do not agree"
}

// wrongClock is from which offset a clock is shown in units that people read.
const wrongClock = 10 * time.Second

func clockText(c api.ClockView) string {
	off := seconds(c.OffsetSeconds)
	switch {
	case off >= wrongClock:
		return "+" + off.Round(time.Second).String()
	case off <= -wrongClock:
		return off.Round(time.Second).String()
	}
	return fmt.Sprintf("%+.0fms ±%.0fms", 1000*c.OffsetSeconds, 1000*c.UncertaintySeconds)
}

func replicaRows(p *page, v *api.ClusterView) [][]any {
	clocks := map[string]string{}
	for _, c := range v.Clocks {
		clocks[c.Node] = clockText(c)
	}
	rows := [][]any{{"REPLICA", tinted{"ROLE", plain}, "ADDRESS", "VERSION", "STARTED", "CLOCK", "FILES"}}
	for i := range v.Replicas {
		r := &v.Replicas[i]
		role := tinted{"follower", plain}
		if r.Leader {
			role = tinted{"leader", green}
		}
		files := shortHash(r.FilesHash)
		if r.FilesNote != "" {
			files += ", see the note"
		}
		rows = append(rows, []any{r.Name, role, r.Addr, r.Version, p.when(r.Started), clocks[r.Name], files})
	}
	return rows
}

// shortHash returns the first digits of a hash. They are enough for a person to compare two hashes.
func shortHash(hash string) string { return hash[:min(12, len(hash))] }

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}
