package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// Headers of the requests by which members without data find each other.
const (
	memberHeader = "Rota-Member"       // of a request: the name of the member that asks
	freshHeader  = "Rota-Without-Data" // of an answer: this member has no data, and has never been in a cluster
)

// beacon answers on the peer URL of a member that has no data yet, until etcd listens there. By its answers the other members
// learn that this one starts for the first time.
type beacon struct {
	server *http.Server
	done   chan struct{} // closed when the server has ended

	mu     sync.Mutex
	askers map[string]bool // guarded by mu: the members that have got an answer
}

// newBeacon listens on the peer URL of e. The caller closes the beacon before etcd listens there.
func newBeacon(e *embed.Config) (*beacon, error) {
	u := e.ListenPeerUrls[0]
	ln, err := net.Listen("tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("listen for peers on %s: %w", u.Host, err)
	}
	if u.Scheme == "https" {
		present := func(*tls.ClientHelloInfo) (*tls.Config, error) { return e.PeerTLSInfo.ServerConfig() }
		c, err := present(nil)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read the certificate for peers: %w", err), ln.Close())
		}
		c.GetConfigForClient = present // the files may be replaced
		ln = tls.NewListener(ln, c)
	}
	b := &beacon{done: make(chan struct{}), askers: map[string]bool{}}
	b.server = &http.Server{
		Handler: b, ReadTimeout: queryTimeout, WriteTimeout: queryTimeout, ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { // ends with close, which waits for it
		defer close(b.done)
		_ = b.server.Serve(ln) // the error only says that the server was closed
	}()
	return b, nil
}

func (b *beacon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/members" {
		http.NotFound(w, r)
		return
	}
	b.mu.Lock()
	b.askers[r.Header.Get(memberHeader)] = true
	b.mu.Unlock()
	w.Header().Set(freshHeader, "true")
	w.WriteHeader(http.StatusServiceUnavailable)
}

// answered reports whether all of the members have got an answer.
func (b *beacon) answered(members []peer) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !slices.ContainsFunc(members, func(p peer) bool { return !b.askers[p.name] })
}

func (b *beacon) close() {
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = b.server.Shutdown(ctx) // lets an answer in progress end
	_ = b.server.Close()
	<-b.done
}
