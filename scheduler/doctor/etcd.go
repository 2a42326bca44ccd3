package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// From these values on, etcd is a finding.
const (
	slowStore   = 100 * time.Millisecond
	nearlyFull  = 80        // percent of the quota
	fragmented  = 50        // percent of the file without records
	leastToFree = 256 << 20 // bytes; less is not worth a defragmentation
)

func (e *examiner) etcd() {
	versions := map[string][]string{}
	leaders, strange := map[uint64][]string{}, map[string][]string{}
	size := 0
	for _, m := range e.Members {
		if m.Err != nil {
			e.add(m.Endpoint, "The member does not answer: "+m.Err.Error()+".", cmp.Or(e.renewal(),
				"start it; if its data is lost: docs/how-to/replace-a-member.md"))
			continue
		}
		versions[m.Version] = append(versions[m.Version], m.Endpoint)
		leaders[m.Leader] = append(leaders[m.Leader], m.Endpoint)
		strange[m.Cluster] = append(strange[m.Cluster], m.Endpoint)
		size = max(size, m.Configured)
		e.member(m)
	}
	e.alarms()
	if e.StoreErr != nil {
		e.add("", "The store cannot be read: "+e.StoreErr.Error()+".", cmp.Or(e.renewal(),
			"start members until a majority is there; docs/how-to/recover-a-full-store.md, if etcd is full"))
	}
	if len(versions) > 1 {
		e.add("", "The members have different versions: "+listed(versions)+".", "finish the upgrade of etcd")
	}
	if len(strange) > 1 {
		e.add("", "The endpoints of etcd belong to different clusters: "+listed(strange)+".",
			"name the members of one cluster in etcd.endpoints")
	}
	if len(leaders[0]) > 0 {
		e.add(strings.Join(leaders[0], ", "), "The member knows no leader: the majority is lost, or it is cut off.",
			"start the missing members, then look at the links between them")
	}
	clusters := map[string][]string{}
	for _, p := range e.Peers {
		clusters[p.Cluster] = append(clusters[p.Cluster], p.Name)
	}
	if len(clusters) > 1 {
		e.add("", "The members that etcd.embedded.cluster lists are in different clusters: "+listed(clusters)+".",
			"after a restore, restore the same file on the members of the old cluster: docs/how-to/back-up-and-restore.md")
	}
	if size > 1 && size%2 == 0 {
		e.add("", fmt.Sprintf("etcd has %d members: they tolerate no more losses than %d would, and fail more often.", size, size-1),
			"add or remove one member")
	}
}

func (e *examiner) member(m Member) {
	if m.Latency > slowStore {
		e.add(m.Endpoint, fmt.Sprintf("A read takes %v; runs begin late by about as much.", m.Latency.Round(time.Millisecond)),
			"look at its disk and its network: `rota etcdctl check perf`")
	}
	if m.OldQuota {
		e.add(m.Endpoint, "etcd "+m.Version+" does not count what rota writes against its quota, and may fill the disk without an alarm.",
			"use etcd 3.5.33, 3.6.14, 3.7.1 or later")
	}
	if m.Quota > 0 && 100*m.Used >= nearlyFull*m.Quota {
		e.add(m.Endpoint, fmt.Sprintf("Its records use %d%% of the quota.", 100*m.Used/m.Quota),
			"keep less history (history.*), or raise the quota of etcd")
	}
	if free := m.Size - m.Used; free > leastToFree && 100*free > fragmented*m.Size {
		e.add(m.Endpoint, fmt.Sprintf("%d%% of its file of %d MiB hold no records.", 100*free/m.Size, m.Size>>20),
			"`rota etcdctl defrag`, one member after the other, the leader of etcd last")
	}
}

// alarms adds a finding for each alarm. Every member lists the alarms of all.
func (e *examiner) alarms() {
	known := map[string]bool{}
	for _, m := range e.Members {
		for _, alarm := range m.Alarms {
			if known[alarm] || m.Leader == 0 && strings.HasSuffix(alarm, "no leader") {
				continue // etcd lists the missing leader among its alarms; it is a finding of its own
			}
			known[alarm] = true
			do := "docs/how-to/recover-a-full-store.md"
			if strings.Contains(alarm, "CORRUPT") {
				do = "replace this member: its data differs from that of the others"
			}
			e.add(e.raisedBy(alarm, m.Endpoint), "etcd has an alarm: "+alarm+".", do)
		}
	}
}

// raisedBy returns the endpoint of the member that an alarm names, or other if no such member answered.
func (e *examiner) raisedBy(alarm, other string) string {
	for _, m := range e.Members {
		if m.ID != 0 && strings.HasPrefix(alarm, fmt.Sprintf("memberID:%d ", m.ID)) {
			return m.Endpoint
		}
	}
	return other
}

// listed names the keys of a map, each with its values, in order.
func listed(groups map[string][]string) string {
	var parts []string
	for key, names := range groups {
		slices.Sort(names)
		parts = append(parts, key+" ("+strings.Join(names, ", ")+")")
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
