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

// How a member without data asks the others.
const (
	askTimeout = time.Second            // for one answer
	askPause   = 500 * time.Millisecond // from one round to the next
	// listPatience is how long members may take to learn of one that was added, before it is none of theirs.
	listPatience = 3 * time.Second
	// silencePatience is how long the network may take to be up, before nobody is there who knows anything.
	silencePatience = 15 * time.Second
)

// census asks the others what a member is that has no data.
type census struct {
	rt     http.RoundTripper
	self   string // our peer URL, as etcd writes it
	others []peer
	known  bool // we have been in a cluster: this is not its first start
	log    hclog.Logger
}

// standing is what we are to the others. Of what several of them say, the greatest counts.
type standing int

const (
	unheard  standing = iota // somebody is there or on the way, and says nothing
	nobody                   // nobody has been started
	stranger                 // they are a cluster, and not ours
	awaited                  // somebody has added us, and we have not been started since: then we have no name there
	listed                   // they begin, as we do
	lost                     // we have served in their cluster
)

var (
	// ErrMembers is returned, wrapped, where the configured members are not those that the cluster has. Starting again does
	// not mend it.
	ErrMembers = errors.New("the members of an embedded cluster are fixed at its first start")

	errLost = errors.New("data is lost")
)

// take finds out whether we were added to a running cluster; else it is the first start of ours. errLost says that we had
// data and have none, and ErrMembers that the cluster is another one.
func (c census) take(ctx context.Context) (added bool, err error) {
	var foreign []*membership.Member
	for began, said := time.Now(), false; ; {
		where, members := c.ask(ctx)
		if where == stranger {
			foreign = members
		}
		waited := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return false, fmt.Errorf("ask who belongs to the cluster: %w", context.Cause(ctx))
		case where == awaited:
			return true, nil
		case where == listed, where == nobody && !c.known:
			return false, nil
		case where == lost:
			return false, errLost
		case len(foreign) > 0 && waited >= listPatience:
			return false, fmt.Errorf("%s is none of %s: %w", c.self, names(foreign), ErrMembers)
		case waited >= silencePatience && c.known:
			return false, errLost
		case waited >= silencePatience:
			return false, nil
		}
		if waited > patience && !said {
			said = true
			c.log.Info("asking the other members whether this one was added", "peer", c.self)
		}
		select {
		case <-ctx.Done():
		case <-time.After(askPause):
		}
	}
}

// ask hears all others once.
func (c census) ask(ctx context.Context) (standing, []*membership.Member) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers, errs := make([][]*membership.Member, len(c.others)), make([]error, len(c.others))
	var wg sync.WaitGroup
	for i, p := range c.others {
		wg.Go(func() { answers[i], errs[i] = members(ctx, c.rt, p.url) })
	}
	wg.Wait()
	where := nobody
	for _, err := range errs {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			where = unheard
		}
	}
	all := slices.Concat(answers...)
	for _, m := range all {
		where = max(where, c.standing(m))
	}
	return where, all
}

// standing is what one entry of a list says of us.
func (c census) standing(m *membership.Member) standing {
	switch {
	case !slices.Contains(m.PeerURLs, c.self):
		return stranger
	case len(m.ClientURLs) > 0: // which a member tells the others when it serves for the first time
		return lost
	case m.Name != "":
		return listed
	}
	return awaited
}

// members asks a member who belongs to its cluster.
func members(ctx context.Context, rt http.RoundTripper, peer string) (list []*membership.Member, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(peer, "/")+"/members", nil)
	if err != nil {
		return nil, err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", peer, resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&list)
	return list, err
}

// names are members for people to read.
func names(members []*membership.Member) string {
	var out []string
	for _, m := range members {
		out = append(out, fmt.Sprintf("%s (%s)", m.Name, strings.Join(m.PeerURLs, " ")))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}
