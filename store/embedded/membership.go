package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

// Times of the query of a member without data.
const (
	queryTimeout  = time.Second            // for one answer
	queryInterval = 500 * time.Millisecond // between two rounds
	// listPatience is how long members may need to learn that this one was added. After that, they count as another cluster.
	listPatience = 3 * time.Second
	// silencePatience is how long the network may need to start. After that, no other member counts as running.
	silencePatience = 15 * time.Second
)

// query asks the other members about the standing of this member, which has no data.
type query struct {
	rt      http.RoundTripper
	self    string // our peer URL, as etcd writes it
	cluster string // the ID of the cluster that the settings form
	others  []peer
	known   bool // this process has been in a cluster, so this is not its first start
	log     hclog.Logger
}

// standing is the state of this member in the view of the others. If their answers differ, the highest value counts.
type standing int

const (
	noAnswer   standing = iota // a process may run there, but does not answer
	notRunning                 // no other member runs
	foreign                    // the others are a cluster without this member, or one that the settings do not form
	joining                    // an operator has added this member, and it has not started yet: it has no name in their list
	forming                    // the others start for the first time, like this member
	served                     // this member has served in their cluster
)

var (
	// ErrMembers is wrapped by the error for configured members that differ from those of the cluster. A restart does
	// not help.
	ErrMembers = errors.New("the members of an embedded cluster are fixed at its first start")

	errLost = errors.New("data is lost")
)

// resolve asks until it knows whether this member was added to a running cluster (true) or starts for the first time (false). It
// returns errLost if this member had data and has none, and ErrMembers if the others are another cluster.
func (q query) resolve(ctx context.Context) (added bool, err error) {
	var strangers []*membership.Member
	for began, logged := time.Now(), false; ; {
		s, members := q.askAll(ctx)
		if s == foreign {
			strangers = members
		}
		waited := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return false, fmt.Errorf("ask for the members of the cluster: %w", context.Cause(ctx))
		case s == joining:
			return true, nil
		case s == forming, s == notRunning && !q.known:
			return false, nil
		case s == served:
			return false, errLost
		case len(strangers) > 0 && waited >= listPatience:
			return false, q.misfit(strangers)
		case waited >= silencePatience && q.known:
			return false, errLost
		case waited >= silencePatience:
			return false, nil
		}
		if waited > patience && !logged {
			logged = true
			q.log.Info("asking the other members whether this one was added", "peer", q.self)
		}
		select {
		case <-ctx.Done():
		case <-time.After(queryInterval):
		}
	}
}

// askAll asks all other members once.
func (q query) askAll(ctx context.Context) (standing, []*membership.Member) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answers := make([]answer, len(q.others))
	var wg sync.WaitGroup
	for i, p := range q.others {
		wg.Go(func() { answers[i] = askMember(ctx, q.rt, p.url, "") })
	}
	wg.Wait()
	result := notRunning
	if slices.ContainsFunc(answers, func(a answer) bool { return !errors.Is(a.err, syscall.ECONNREFUSED) }) {
		result = noAnswer
	}
	var all []*membership.Member
	for _, a := range answers {
		for _, m := range a.members {
			result = max(result, q.standing(m, a.cluster))
		}
		all = append(all, a.members...)
	}
	return result, all
}

// standing returns the standing of this member according to m, one entry of the list of members of a cluster.
func (q query) standing(m *membership.Member, cluster string) standing {
	switch {
	case !slices.Contains(m.PeerURLs, q.self):
		return foreign
	case len(m.ClientURLs) > 0: // a member publishes these when it serves for the first time
		return served
	case m.Name == "":
		return joining
	case cluster != q.cluster: // the others begin with a backup, or with another list
		return foreign
	}
	return forming
}

// misfit returns the error for a member that is not one of the cluster of the others.
func (q query) misfit(theirs []*membership.Member) error {
	reason := "is none of"
	if slices.ContainsFunc(theirs, func(m *membership.Member) bool { return slices.Contains(m.PeerURLs, q.self) }) {
		reason = "has no data, and is listed in a cluster that was restored from a backup or has another list:"
	}
	return fmt.Errorf("%s %s %s: %w", q.self, reason, names(theirs), ErrMembers)
}

// peerTransport returns a transport to the other members, with the present certificates. The caller closes its connections.
func (c Config) peerTransport() (*http.Transport, error) {
	certificates, err := c.etcd().PeerTLSInfo.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the certificate for peers: %w", err)
	}
	return &http.Transport{TLSClientConfig: certificates}, nil
}

// askMember asks one member for its cluster. name is the member that asks.
func askMember(ctx context.Context, rt http.RoundTripper, peer, name string) (a answer) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(peer, "/")+"/members", nil)
	if err != nil {
		return answer{err: err}
	}
	if name != "" {
		req.Header.Set(memberHeader, name)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	switch {
	case resp.Header.Get(freshHeader) != "":
		return answer{fresh: true}
	case resp.StatusCode != http.StatusOK:
		return answer{err: fmt.Errorf("%s answered %s", peer, resp.Status)}
	}
	a.cluster = resp.Header.Get("X-Etcd-Cluster-Id")
	a.err = json.NewDecoder(resp.Body).Decode(&a.members)
	return a
}

// names formats members for people.
func names(members []*membership.Member) string {
	var out []string
	for _, m := range members {
		out = append(out, fmt.Sprintf("%s (%s)", m.Name, strings.Join(m.PeerURLs, " ")))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}
