package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// clockMargin is from which difference a clock is a finding. The default of dispatch.max_clock_offset is 500 ms.
const clockMargin = 100 * time.Millisecond

func (e *examiner) replicas() {
	switch {
	case e.Restored != nil:
		e.add("", "The replicas wait, and nothing is dispatched: "+e.Restored.Error()+".",
			"look at what is there, then `rota accept-restored-store`: docs/how-to/back-up-and-restore.md")
	case len(e.Replicas) == 0:
		e.add("", "No replica is present: nothing is dispatched.",
			"start the replicas; if they run, `rota health --ready` says what they wait for")
	}
	absent := map[string]string{}
	for _, a := range e.Answers {
		maps.Copy(absent, a.Absent)
		switch {
		case a.Err != nil && a.Strange:
			e.add(a.Node, "The replica was not asked at "+a.Addr+": "+a.Err.Error()+".",
				"say who you are, and which authority you trust: ROTA_CACERT, ROTA_CERT and ROTA_CERT_KEY, or --token-file")
		case a.Err != nil:
			e.add(a.Node, "The replica is present in the store, but does not answer here at "+a.Addr+": "+a.Err.Error()+".",
				"compare http.advertise with the address at which this machine reaches it")
		case !a.Ready:
			e.add(a.Node, "The replica is not ready: "+strings.Join(a.Why, "; ")+".", "rota health --ready --server URL")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		e.add(name, "The replica is "+absent[name]+": the cluster tolerates fewer losses.",
			"start it; if its data is lost: docs/how-to/replace-a-member.md")
	}
	e.addresses()
	e.listeners()
	e.notifiers()
	e.lists()
}

// lists finds replicas with different lists of the members of etcd.
func (e *examiner) lists() {
	lists := map[string][]string{}
	for _, r := range e.Replicas {
		if len(r.Members) > 0 {
			list := strings.Join(r.Members, ",")
			lists[list] = append(lists[list], r.Name)
		}
	}
	if len(lists) > 1 {
		e.add("", "The replicas list different members in etcd.embedded.cluster: "+listed(lists)+".",
			"write the same list into the settings of every replica: docs/how-to/grow-to-three.md")
	}
}

// notifiers finds notifiers whose messages do not arrive.
func (e *examiner) notifiers() {
	for _, r := range e.Replicas {
		for _, u := range r.Undelivered {
			e.add(r.Name, u.String(), "correct the url of the notifier, or let every replica reach its address")
		}
	}
}

// listeners finds processes that also accept connections without TLS.
func (e *examiner) listeners() {
	open := job.TLSOptional(e.Replicas, e.Workers)
	for _, name := range slices.Sorted(maps.Keys(open)) {
		e.add(name, "It also accepts connections without TLS: "+strings.Join(open[name], ", ")+".",
			"end the change to TLS: docs/how-to/close-the-network.md")
	}
}

// addresses finds addresses that only one machine can reach.
func (e *examiner) addresses() {
	loopback, hosts := map[string]string{}, map[string]bool{}
	look := func(name, addr string) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return
		}
		if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
			loopback[name] = addr
			return
		}
		hosts[host] = true
	}
	for _, r := range e.Replicas {
		look(r.Name, r.Addr)
	}
	if len(hosts) == 0 {
		return
	}
	for _, r := range e.Replicas {
		if addr := loopback[r.Name]; addr != "" {
			e.add(r.Name, "It advertises "+addr+", which no other machine reaches.", "set http.advertise to its address in the network")
		}
	}
}

func (e *examiner) clocks() {
	limit := 500 * time.Millisecond
	if e.Machine != nil {
		limit = cmp.Or(e.Machine.Settings.MaxClockOffset, limit)
	}
	differ := e.differing()
	for _, a := range e.Answers {
		for _, c := range a.Clocks {
			off := c.Offset.Abs() - c.Uncertainty
			if a.Node > c.Node && e.measures(c.Node, a.Node) || off < clockMargin {
				continue // the other one says the same, or they agree
			}
			wrong, right, ahead := c.Node, a.Node, c.Offset > 0
			if differ[a.Node] > differ[c.Node] {
				wrong, right, ahead = a.Node, c.Node, !ahead
			}
			way := "behind"
			if ahead {
				way = "ahead of"
			}
			text := fmt.Sprintf("Its clock is %v %s that of %s", c.Offset.Abs().Round(time.Millisecond), way, right)
			if off > limit {
				text += ": a replica with such a clock does not lead"
			}
			e.add(wrong, text+".", "synchronize the clocks with chrony or systemd-timesyncd")
		}
	}
}

// differing counts for each replica the others from whose clocks its clock differs. The wrong clock differs from more of them than
// a right one does.
func (e *examiner) differing() map[string]int {
	pairs, count := map[[2]string]bool{}, map[string]int{}
	for _, a := range e.Answers {
		for _, c := range a.Clocks {
			pair := [2]string{min(a.Node, c.Node), max(a.Node, c.Node)}
			if c.Offset.Abs()-c.Uncertainty >= clockMargin && !pairs[pair] {
				pairs[pair] = true
				count[a.Node]++
				count[c.Node]++
			}
		}
	}
	return count
}

// measures reports whether a replica has measured the clock of another.
func (e *examiner) measures(node, other string) bool {
	for _, a := range e.Answers {
		if a.Node != node {
			continue
		}
		for _, c := range a.Clocks {
			if c.Node == other {
				return true
			}
		}
	}
	return false
}

func (e *examiner) versions() {
	versions := map[string][]string{}
	replicas := map[string]bool{}
	for _, r := range e.Replicas {
		replicas[r.Name] = true
		if r.Version != "" {
			versions[r.Version] = append(versions[r.Version], r.Name)
		}
	}
	for _, w := range e.Workers {
		if w.Version != "" && !replicas[w.Name] {
			versions[w.Version] = append(versions[w.Version], w.Name)
		}
	}
	if len(versions) > 1 {
		e.add("", "The processes have different versions: "+listed(versions)+".", "finish the upgrade: docs/how-to/upgrade.md")
	}
}

func (e *examiner) files() {
	hashes := map[string][]string{}
	for _, r := range e.Replicas {
		hashes[cmp.Or(shorten(r.FilesHash), "none")] = append(hashes[cmp.Or(shorten(r.FilesHash), "none")], r.Name)
		if r.FilesNote != "" {
			e.add(r.Name, "Its job files are not in force: "+r.FilesNote+".", "rota check PATH on that machine")
		}
	}
	if len(hashes) > 1 {
		e.add("", "The replicas have read different job files: "+listed(hashes)+".", "give every replica the same files")
	}
}

func shorten(hash string) string { return hash[:min(len(hash), 12)] }

func (e *examiner) records() {
	for _, u := range e.Unreadable {
		e.add(u.Key, "The record is unreadable and ignored: "+u.Err.Error()+".", "rota etcdctl get "+u.Key)
	}
}
