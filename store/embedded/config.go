package embedded

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// Defaults of a Config.
//
// The heartbeat and election times are etcd's own. With them, three members in
// one process on two cores accepted writes 1.1 to 1.7 s after their leader died
// without Close. With half these times they needed 0.5 to 0.6 s. But on a shared
// machine or a slow disk, short times depose healthy leaders, and every change of
// leader extends all leases to their full TTL. The election time is also a lower
// bound of leases: etcd grants no lease shorter than one and a half election
// times, rounded up to seconds (two seconds here).
const (
	DefaultName       = "rota"
	DefaultClient     = "http://127.0.0.1:2379"
	DefaultHeartbeat  = 100 * time.Millisecond
	DefaultElection   = time.Second
	DefaultQuotaBytes = int64(2 << 30)
	DefaultRetention  = 5 * time.Minute
)

// Numbers of commits that etcd keeps in memory: those since the last raft
// snapshot, and catchUpCommits before it. A member that was away catches up
// with the commits before the snapshot. If it was away for longer, it gets the
// whole database. A commit of rota has up to a hundred changes, so etcd's own
// numbers, 10,000 and 5,000, would need a gigabyte of memory under load.
const (
	DefaultSnapshotCount = 2_500
	catchUpCommits       = 1_000
)

// MaxTxnOps and MaxRequestBytes are the limits of one request to the server. They
// are those of any etcd, on which the batches of package store rely.
const (
	MaxTxnOps       = 128
	MaxRequestBytes = 3 << 19 // 1.5 MiB
)

const (
	clusterToken = "rota"
	// soloPeer is the peer address of a single member, which has no peers. The
	// member's own record stores port 0. At the next start, the record is still
	// valid. A record of the chosen port would be wrong.
	soloPeer = "http://127.0.0.1:0"
	// With TLS, the port answers only clients with a certificate.
	soloPeerTLS = "https://127.0.0.1:0"
)

// Config says how one member runs. The zero value of a field is its default;
// only Dir is required.
type Config struct {
	// Name is the member's name, unique in the cluster.
	Name string
	// Dir is the directory of the member's data. It is created, and only its
	// owner can read it. Only one process at a time may use it.
	Dir string
	// Client is the URL that clients of this member use, for example
	// http://127.0.0.1:2379. Port 0 picks a free port; see Server.Endpoint.
	Client string
	// Peer is the URL that other members use for this one. Empty means this
	// member's URL in Cluster; a single member needs none.
	Peer string
	// ListenClient and ListenPeer are URLs to listen on instead of Client and
	// Peer. By default a member listens on the address of Client and Peer. If
	// that is a name other than localhost, as in containers, it listens on all
	// addresses of the machine.
	ListenClient string
	ListenPeer   string
	// Cluster lists all first members, including this one, as
	// "q1=http://q1:2380,q2=http://q2:2380,q3=http://q3:2380". Empty means a
	// single member. Only the first start reads it; later the members are those
	// in Dir. A member without data asks the others whether an operator has
	// added it to a running cluster (etcdctl member add). See also Rejoin.
	Cluster string
	// KnownBy is a file that proves that this process has been in a cluster
	// before; empty if there is none. If it is set, a Dir without data has lost
	// its data, and the member does not form a new cluster of several members.
	KnownBy string
	// Rejoin lets this member change the members of its cluster. If it has no data, it replaces the lost member of its name, or
	// joins as a further one, as soon as a majority answers without it. If it has data, it removes members that Cluster does not
	// list. All members must agree on it.
	Rejoin bool
	// Members returns the present value of Cluster, which may change while the member runs. Nil or "" stands for Cluster. Only
	// used with Rejoin.
	Members func() string
	// OthersList returns the present value of Cluster of each other process that runs, by its name. Such a process keeps the
	// members that it lists: they are not removed, even if they do not answer. If it returns nil, they are not known yet, and no
	// member is removed. Nil: there are no such processes. Only used with Rejoin.
	OthersList func() map[string]string

	// Heartbeat is the time between two heartbeats of the leader; Election is
	// how long followers wait for one. Election must be at least five
	// heartbeats, and all members must agree on both. Whole milliseconds.
	Heartbeat time.Duration
	Election  time.Duration
	// QuotaBytes is the size of the database at which etcd rejects writes until
	// an operator compacts it, defragments it and disarms the alarm.
	QuotaBytes int64
	// SnapshotCount is the number of commits between two raft snapshots.
	SnapshotCount uint64
	// CompactionRetention is how long past revisions are kept. A watch that
	// resumes from an older revision ends with ErrCompacted.
	CompactionRetention time.Duration

	// Dying is called when etcd is about to end the process or panics, after it
	// has logged the reason. May be nil.
	Dying func()

	// ClientTLS and PeerTLS are for https URLs. With Optional, URLs may be plain beside them.
	ClientTLS TLS
	PeerTLS   TLS
	// Optional accepts clients with and without TLS on one port, and peers by the scheme of Peer. It is for the time in which a
	// running cluster changes to TLS, or back: members with the files reach the others at URLs of both schemes.
	Optional bool

	// NoSync skips fsync and hashes passwords at the lowest cost. It is for tests
	// only: a crash of the machine loses or corrupts acknowledged data.
	NoSync bool
}

// TLS names PEM files. With a CA, the other side must show a certificate that
// the CA signed. If there are Names, that certificate must also be valid for one
// of these hosts, wherever the other side is.
type TLS struct {
	Cert, Key, CA string
	Names         []string
}

// given reports whether any file is named.
func (t TLS) given() bool { return t.Cert != "" || t.Key != "" || t.CA != "" }

// peer is one entry of Config.Cluster.
type peer struct {
	name, url string
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, DefaultName)
	c.Client = cmp.Or(c.Client, DefaultClient)
	c.Heartbeat = cmp.Or(c.Heartbeat, DefaultHeartbeat)
	c.Election = cmp.Or(c.Election, DefaultElection)
	c.SnapshotCount = cmp.Or(c.SnapshotCount, DefaultSnapshotCount)
	c.QuotaBytes = cmp.Or(c.QuotaBytes, DefaultQuotaBytes)
	c.CompactionRetention = cmp.Or(c.CompactionRetention, DefaultRetention)
	c.Peer = trimURL(c.Peer)
	if c.Peer == "" {
		peers, _ := c.peers() // Validate reports a bad list.
		for _, p := range peers {
			if p.name == c.Name {
				c.Peer = p.url
			}
		}
	}
	switch {
	case c.Cluster != "" || c.Peer != "":
	case c.PeerTLS.Cert != "":
		c.Peer = soloPeerTLS
	default:
		c.Peer = soloPeer
	}
	return c
}

// peers parses Cluster. It returns nil for a single member.
func (c Config) peers() ([]peer, error) {
	if c.Cluster == "" {
		return nil, nil
	}
	var peers []peer
	for item := range strings.SplitSeq(c.Cluster, ",") {
		name, rawURL, ok := strings.Cut(item, "=")
		name, rawURL = strings.TrimSpace(name), trimURL(rawURL)
		if !ok || name == "" {
			return nil, fmt.Errorf("cluster entry %q is not like name=http://host:2380", item)
		}
		if _, err := parseURL("cluster entry "+name, rawURL); err != nil {
			return nil, err
		}
		for _, p := range peers {
			if p.name == name || p.url == rawURL {
				return nil, fmt.Errorf("cluster entry %q repeats a name or a url", item)
			}
		}
		peers = append(peers, peer{name, rawURL})
	}
	return peers, nil
}

// trimURL removes what a URL may have around it in the settings, and etcd does not accept: spaces, and slashes at its end.
func trimURL(text string) string { return strings.TrimRight(strings.TrimSpace(text), "/") }

// listForEtcd returns Cluster as etcd reads it, which takes a space after a comma for a part of a name.
func (c Config) listForEtcd() string {
	peers, _ := c.peers() // Validate reports a bad list
	if len(peers) == 0 {
		return c.Name + "=" + c.Peer
	}
	entries := make([]string, len(peers))
	for i, p := range peers {
		entries[i] = p.name + "=" + p.url
	}
	return strings.Join(entries, ",")
}

// others lists the first members except this one.
func (c Config) others() []peer {
	peers, _ := c.peers() // Validate reports a bad list
	return slices.DeleteFunc(peers, func(p peer) bool { return p.name == c.Name })
}

// isFirst reports whether Cluster lists this member first. Only that member may carry the data of a cluster of one into a
// larger one. Otherwise two clusters of one could grow side by side.
func (c Config) isFirst() bool {
	peers, _ := c.peers() // Validate reports a bad list
	return len(peers) > 0 && peers[0].name == c.Name
}

// listenURL returns the URL to listen on for an advertised URL.
func listenURL(advertise, listen url.URL) url.URL {
	if listen.Host != "" {
		return listen
	}
	switch host := advertise.Hostname(); {
	case host == "localhost":
		advertise.Host = net.JoinHostPort("127.0.0.1", advertise.Port())
	case net.ParseIP(host) == nil:
		advertise.Host = net.JoinHostPort("0.0.0.0", advertise.Port())
	}
	return advertise
}

// etcd translates a valid config with defaults into etcd's config. Some of
// etcd's defaults stay on purpose: pre-vote and the strict reconfiguration check.
func (c Config) etcd() *embed.Config {
	e := embed.NewConfig()
	e.Name, e.Dir = c.Name, c.Dir

	client, _ := parseURL("client", c.Client)
	peerURL, _ := parseURL("peer", c.Peer)
	lc, _ := parseURL("listen_client", c.ListenClient)
	lp, _ := parseURL("listen_peer", c.ListenPeer)
	e.AdvertiseClientUrls, e.ListenClientUrls = []url.URL{client}, []url.URL{listenURL(client, lc)}
	e.AdvertisePeerUrls, e.ListenPeerUrls = []url.URL{peerURL}, []url.URL{listenURL(peerURL, lp)}

	e.InitialCluster = c.listForEtcd()
	e.InitialClusterToken = clusterToken
	e.TickMs, e.ElectionMs = uint(c.Heartbeat.Milliseconds()), uint(c.Election.Milliseconds())
	e.QuotaBackendBytes = c.QuotaBytes
	e.MaxTxnOps, e.MaxRequestBytes = MaxTxnOps, MaxRequestBytes
	e.SnapshotCount, e.SnapshotCatchUpEntries = c.SnapshotCount, catchUpCommits
	e.AutoCompactionMode = embed.CompactorModePeriodic
	e.AutoCompactionRetention = c.CompactionRetention.String()
	e.EnableGRPCGateway = false
	if c.NoSync {
		e.UnsafeNoFsync, e.BcryptCost = true, 4 // the minimum
	}

	if c.Optional {
		other := e.ListenClientUrls[0]
		other.Scheme = map[string]string{"http": "https", "https": "http"}[other.Scheme]
		e.ListenClientUrls = append(e.ListenClientUrls, other) // etcd serves both on one port
	}
	for info, t := range map[*transport.TLSInfo]TLS{&e.ClientTLSInfo: c.ClientTLS, &e.PeerTLSInfo: c.PeerTLS} {
		info.CertFile, info.KeyFile = t.Cert, t.Key
		info.TrustedCAFile, info.ClientCertAuth = t.CA, t.CA != ""
		info.AllowedHostnames = t.Names
	}
	return e
}
