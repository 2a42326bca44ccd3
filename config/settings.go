package config

import (
	"net/netip"
	"time"
)

// Settings are the settings of one process. LoadSettings returns them complete and checked.
type Settings struct {
	Node     Node
	HTTP     HTTP
	Etcd     Etcd
	Election Election
	Dispatch Dispatch
	Worker   Worker
	Notify   Notify
	Jobs     string // job file or directory; empty: jobs come by the API alone
	History  History
	Log      Log

	// Warnings are worth telling and no reason to stop, such as a ROTA_… variable that means nothing.
	Warnings []string

	origins map[string]string
}

// Node is this process among the others.
type Node struct {
	Name    string // unique in the cluster, a DNS-1123 label; default: the host's name
	DataDir string // of embedded etcd, the outcome journal and output; default /var/lib/rota for root
}

// HTTP is where the API is.
type HTTP struct {
	Listen    string   // host:port
	Advertise string   // host:port under which others reach it; default: made from Listen
	Hosts     []string // names under which it answers, besides addresses, Advertise and the node's name; *.domain for all below
	TLS       ServerTLS
}

// ServerTLS names PEM files. With none of them the API speaks plain HTTP.
type ServerTLS struct {
	Cert     string
	Key      string
	ClientCA string // clients must have a certificate of it
}

// Etcd is the store. Without Endpoints this process is a member of an embedded cluster.
type Etcd struct {
	Endpoints    []string // URLs
	Prefix       string   // of every key; begins with a slash and does not end with one
	TLS          ClientTLS
	Username     string
	PasswordFile string
	Embedded     Embedded
}

// ClientTLS names PEM files.
type ClientTLS struct {
	Cert string
	Key  string
	CA   string
}

// Embedded is this process's member of an embedded etcd cluster; empty if there are Etcd.Endpoints.
type Embedded struct {
	Client  string // URL for clients
	Peer    string // URL for the other members
	Cluster string // name=peer URL of every member, by commas; empty: a cluster of one
}

// Election is how the leader is found.
type Election struct {
	TTL time.Duration // a leader that is gone is replaced after this; whole seconds, at least 2 s
	// FastTakeover lets a replica end the term of a leader whose process is proven dead, instead of waiting for TTL.
	FastTakeover bool
}

// Dispatch is how the leader hands runs out.
type Dispatch struct {
	ArmAhead       time.Duration // a run is given to its worker this long before its slot; 0: at the slot
	MaxClockOffset time.Duration // a replica whose clock is further off does not lead
}

// Lead is how long before its slot a run is armed: nearly ArmAhead, so that what is due on a whole second, as most slots are, is
// armed between two of them, and not in the way of what begins then.
func (d Dispatch) Lead() time.Duration {
	const between = 600 * time.Millisecond
	if d.ArmAhead < between {
		return d.ArmAhead
	}
	return (d.ArmAhead - between).Truncate(time.Second) + between
}

// Worker is what this process executes.
type Worker struct {
	Enabled       bool
	Capacity      int               // attempts at a time
	Labels        map[string]string // for the workers key of jobs
	ShutdownGrace time.Duration     // time that running attempts are given when the process stops
	Refs          Refs
	HTTP          Reach
}

// Notify says what notifiers may use and reach. The leader sends from its own machine.
type Notify struct {
	Refs Refs
	HTTP Reach
}

// Refs says which references definitions may use on this machine.
type Refs struct {
	Files []string // patterns of absolute paths, as path.Match has them; a pattern that ends in /** means everything below
	Env   []string // patterns of names of variables
}

// Reach says which addresses definitions may reach from this machine. Without it, everything but loopback, link-local addresses,
// metadata services, and rota's own API and etcd.
type Reach struct {
	Allow []netip.Prefix // also loopback
	Deny  []netip.Prefix // wins over Allow
}

// History is how much of the past is kept.
type History struct {
	Success int           // runs of each job that succeeded
	Failed  int           // runs of each job that did not
	MaxAge  time.Duration // of any run
}

// Log is what this process says.
type Log struct {
	Level  LogLevel
	Format LogFormat
}

// LogLevel is the least important kind of line that is written.
type LogLevel string

// LogLevels lists every LogLevel.
func LogLevels() []LogLevel { return []LogLevel{"trace", "debug", "info", "warn", "error"} }

// LogFormat is how a line is written.
type LogFormat string

// LogFormats lists every LogFormat.
func LogFormats() []LogFormat { return []LogFormat{"json", "text"} }

// The places that a setting can come from.
const (
	OriginFlag    = "flag"
	OriginEnv     = "env"
	OriginFile    = "file"
	OriginDefault = "default"
)

// Origins returns for each setting, such as node.name, where its value came from: OriginFlag, OriginEnv, OriginFile
// or OriginDefault.
func (s Settings) Origins() map[string]string {
	origins := make(map[string]string, len(s.origins))
	for k, v := range s.origins {
		origins[k] = v
	}
	return origins
}
