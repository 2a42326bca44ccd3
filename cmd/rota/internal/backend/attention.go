package backend

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// attentionAge is how long the findings about jobs are used again, at least. They need a pass over all jobs and runs.
	attentionAge = time.Second
	// attentionRest is how many times longer than that pass they are used again: with a million jobs, a pass takes a second.
	attentionRest = 10
	// certificateMargin is how long before its end a certificate needs attention.
	certificateMargin = 14 * 24 * time.Hour
)

// together joins the names of the replicas that have the same note. Each note begins with the name of its replica.
func together(notes []string) (list []string) {
	at := map[string]int{} // index in list, by the text without names
	for _, note := range notes {
		name, text, _ := strings.Cut(note, ": ")
		i, known := at[text]
		if !known {
			at[text] = len(list)
			list = append(list, note)
			continue
		}
		names := strings.TrimSuffix(list[i], ": "+text)
		list[i] = names + ", " + name + ": " + text
	}
	return list
}

// attention returns what needs attention, the most urgent first. v is complete except for the field itself.
func (b *Backend) attention(v *api.ClusterView, now time.Time) (items []attention.Item) {
	add := func(kind, node, text, next string, since time.Time) {
		items = append(items, attention.Item{Kind: kind, Node: node, Since: since, Text: text, Next: next})
	}
	if v.Leader == nil {
		add(attention.NoLeader, "", "No replica leads: nothing is dispatched.", "rota incident", b.leaderless())
	}
	for _, reason := range v.NotReady {
		add(attention.NotReady, b.cfg.Node, "Replica "+b.cfg.Node+" is not ready: "+reason+".", "rota health --ready", time.Time{})
	}
	b.addMembers(v, add)
	b.addClocks(v, add)
	switch s := &v.Store; {
	case s.Full:
		add(attention.StoreFull, "", "The store is full: nothing new is dispatched.", "rota etcdctl alarm list", time.Time{})
	case s.Quota > 0 && b.cfg.Space.NearlyFull():
		add(attention.StoreFull, "", fmt.Sprintf("The store uses %d%% of its quota.", 100*s.DBSize/s.Quota),
			"rota etcdctl endpoint status", time.Time{})
	}
	for _, q := range v.Quarantined {
		add(attention.Quarantined, "", "The record "+q.Key+" is unreadable: "+q.Error+".", "rota etcdctl get "+q.Key, time.Time{})
	}
	if !v.Files.Agree {
		text := "The job files need repair: " + strings.Join(together(v.Files.Notes), "; ") + "."
		add(attention.Files, "", text, "rota diff PATH", time.Time{})
	}
	if m := currentTrouble(b.cfg.AuthMistake); m != nil {
		text := "The auth.file of " + b.cfg.Node + " has mistakes, so its last good version is in force: " + m.Text + "."
		add(attention.AuthFile, b.cfg.Node, text, "rota config show", m.Since)
	}
	if t := currentTrouble(b.cfg.ProviderTrouble); t != nil {
		text := "Nobody can sign in by " + b.cfg.Issuer + " on " + b.cfg.Node + ": " + t.Text + "."
		add(attention.OpenID, b.cfg.Node, text, "rota config show", t.Since)
	}
	if text := versions(v.Replicas); text != "" {
		add(attention.Version, "", text, "rota status", time.Time{})
	}
	if text := b.certificate(now); text != "" {
		add(attention.Certificate, b.cfg.Node, text, "rota pki --help", time.Time{})
	}
	if age := time.Duration(v.AgeSeconds * float64(time.Second)); age > MaxSilence {
		add(attention.Stale, b.cfg.Node, fmt.Sprintf("Replica %s has not heard from the store for %v: its answers are that old.",
			b.cfg.Node, age.Round(time.Second)), "rota status --server OTHER", now.Add(-age))
	}
	items = append(items, attention.OfWorkers(b.mirror.Workers())...)
	items = append(items, attention.OfListeners(b.mirror.Replicas(), b.mirror.Workers())...)
	items = append(items, attention.OfNotifiers(b.mirror.Replicas())...)
	items = append(items, b.ofJobs(now)...)
	attention.Sort(items)
	return items
}

// currentTrouble returns what trouble returns; nil if trouble is nil.
func currentTrouble(trouble func() *Trouble) *Trouble {
	if trouble == nil {
		return nil
	}
	return trouble()
}

// addMembers adds the members that are missing, and endpoints of etcd that do not answer.
func (b *Backend) addMembers(v *api.ClusterView, add func(kind, node, text, next string, since time.Time)) {
	for _, m := range v.Members {
		if m.State == memberPresent {
			continue
		}
		text := "Replica " + m.Name + " does not answer"
		switch {
		case m.State == memberStopped:
			text = "Replica " + m.Name + " was stopped"
		case m.Since.IsZero(): // the cluster or this replica has just started
			text = "Replica " + m.Name + " has not answered yet"
		}
		switch {
		case v.Tolerated == nil:
		case *v.Tolerated < 0:
			text += ": the majority is lost"
		case *v.Tolerated == 0:
			text += ": no further loss is tolerated"
		}
		add(attention.Member, m.Name, text+".", "rota incident", m.Since)
	}
	if n := b.voters() - len(b.memberNames()); n > 0 && len(b.memberNames()) > 0 {
		text := fmt.Sprintf("%d of the %d members of etcd never started: each of them counts as lost.", n, b.voters())
		add(attention.Member, "", text, "rota etcdctl member list", time.Time{})
	}
	if len(b.memberNames()) == 0 {
		for _, endpoint := range v.Store.Unavailable {
			add(attention.Member, endpoint, "The etcd member "+endpoint+" does not answer.", "rota etcdctl endpoint status", time.Time{})
		}
	}
}

// versions says that the replicas have different versions; "" if they have one.
func versions(replicas []api.ReplicaView) string {
	var list []string
	for _, r := range replicas {
		if r.Version != "" && !slices.Contains(list, r.Version) {
			list = append(list, r.Version)
		}
	}
	if len(list) < 2 {
		return ""
	}
	slices.Sort(list)
	return "The replicas have different versions: " + strings.Join(list, ", ") + "."
}

// leaderless returns since when no replica leads; zero if this replica does not know.
func (b *Backend) leaderless() time.Time {
	for _, o := range slices.Backward(b.calls.Outages()) {
		if o.Node == "" && o.Until.IsZero() {
			return o.From
		}
	}
	return time.Time{}
}

// ofJobs returns what needs attention about jobs. It uses a recent answer again.
func (b *Backend) ofJobs(now time.Time) []attention.Item {
	b.found.mu.Lock()
	defer b.found.mu.Unlock()
	if age := now.Sub(b.found.at); age < 0 || age > max(attentionAge, attentionRest*b.found.took) {
		began := time.Now()
		f := attention.Facts{
			Gate: b.mirror.Gate(), Workers: b.mirror.Workers(), Now: now,
			Runs:    b.mirror.RunsDue(now, func(r *job.Run) bool { return attention.Reads(r, now) }),
			Cursors: b.cfg.Activity.Cursors(func(c *job.Cursor) bool { return attention.IsAhead(c, now) }),
		}
		f.Jobs = b.mirror.JobsThat(f.Concerns())
		b.found.items = attention.OfJobs(f)
		b.found.at, b.found.took = now, time.Since(began)
	}
	return b.found.items
}

// certificate says that the certificate of this replica's API ends soon, or that a file of its TLS cannot be read. It returns "" if
// all is well, or if there is no certificate.
func (b *Backend) certificate(now time.Time) string {
	if b.cfg.TLS.Cert == "" {
		return ""
	}
	pair, err := tls.LoadX509KeyPair(b.cfg.TLS.Cert, b.cfg.TLS.Key)
	if err != nil {
		return "The certificate of replica " + b.cfg.Node + " cannot be read, so an earlier one is in use: " + err.Error() + "."
	}
	if b.cfg.TLS.ClientCA != "" {
		if err := peer.Authority(b.cfg.TLS).Check(); err != nil {
			return "The authority of replica " + b.cfg.Node + " cannot be read, so an earlier one is in use: " + err.Error() + "."
		}
	}
	switch cert := pair.Leaf; {
	case now.After(cert.NotAfter):
		return fmt.Sprintf("The certificate of replica %s expired at %s.", b.cfg.Node, cert.NotAfter.UTC().Format(time.RFC3339))
	case cert.NotAfter.Sub(now) < certificateMargin:
		return fmt.Sprintf("The certificate of replica %s expires at %s.", b.cfg.Node, cert.NotAfter.UTC().Format(time.RFC3339))
	}
	return ""
}
