package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

// askTimeout is how long a first start waits for what the other members say.
const askTimeout = time.Second

// lostData is what an operator does about a member without its data.
const lostData = "the others know member %[1]s, and %[2]s holds no data of it: restore the directory, or, " +
	"with this process stopped, tell the others that it is lost (by `rota etcdctl --endpoints` and the client URL of one of " +
	"them: member list, member remove ID, member add %[1]s --peer-urls=%[3]s), empty the directory and start again"

// added says whether the other members wait for this one, which has no data, to join their cluster: an operator has removed
// the member that had its URL and lost its data, and has added it anew (etcdctl member add). Until it has been started, such a
// member has no name there; one of the first start has, and one that was started before and lost its data again. Without an
// answer it is the first start of the cluster.
func (s *Server) added(ctx context.Context, e *embed.Config) (bool, error) {
	if logs, _ := filepath.Glob(filepath.Join(s.cfg.Dir, "member", "wal", "*.wal")); len(logs) > 0 {
		return false, nil
	}
	certificates, err := e.PeerTLSInfo.ClientConfig()
	if err != nil {
		return false, fmt.Errorf("read the certificate for peers: %w", err)
	}
	rt := &http.Transport{TLSClientConfig: certificates}
	defer rt.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	others := s.cfg.others()
	answers := make([][]*membership.Member, len(others))
	var wg sync.WaitGroup
	for i, p := range others {
		wg.Go(func() { answers[i], _ = members(ctx, rt, p.url) })
	}
	wg.Wait()
	waits := false
	for _, m := range slices.Concat(answers...) {
		if slices.Contains(m.PeerURLs, s.cfg.Peer) {
			if m.Name != "" {
				return false, nil
			}
			waits = true
		}
	}
	return waits, nil
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
