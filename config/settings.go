package config

import (
	"maps"
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
	Jobs     string // job file or directory; empty: jobs come from the API alone
	History  History
	Log      Log
	Auth     Auth
	Insecure bool // the API may listen beyond loopback although everybody who reaches it may do everything

	// Warnings do not stop the process. An unknown ROTA_… variable is one.
	Warnings []string

	origins map[string]string
}

// Node identifies this process.
type Node struct {
	Name    string // unique in the cluster, a DNS-1123 label; default: the host's name
	DataDir string // directory of embedded etcd, the outcome journal and output; default /var/lib/rota for root
}

// HTTP is the address of the API.
type HTTP struct {
	Listen    string   // host:port
	Advertise string   // host:port under which other processes reach it; default: made from Listen
	Hosts     []string // further names of the API, besides addresses, Advertise and the node's name; *.domain matches all below
	TLS       ServerTLS
}

// ServerTLS names PEM files. Without any, the API speaks plain HTTP.
type ServerTLS struct {
	Cert     string
	Key      string
	ClientCA string // clients must have a certificate of this authority
}

// Etcd is the connection to the store. Without Endpoints, this process is a member of an embedded cluster.
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

// Embedded is the member of an embedded etcd cluster in this process. It is empty if Etcd has Endpoints.
type Embedded struct {
	Client  string    // URL for clients
	Peer    string    // URL for the other members
	Cluster string    // name=peer URL of every member, separated by commas; empty: a cluster of one
	TLS     ClientTLS // of the member, to clients and to other members: its URLs are https then
}

// Election configures the election of the leader.
type Election struct {
	TTL time.Duration // a lost leader is replaced after this; whole seconds, at least 2 s
	// FastTakeover lets a replica end the term of a leader whose process is proven dead. It then does not wait for TTL.
	FastTakeover bool
}

// Dispatch configures how the leader dispatches runs.
type Dispatch struct {
	ArmAhead       time.Duration // how long before its slot a run is assigned to a worker; 0: at the slot
	MaxClockOffset time.Duration // a replica with a larger clock offset does not lead
}

// Lead returns how long before its slot a run is armed: a little less than ArmAhead. Most slots are on whole seconds. So runs
// are armed between two seconds and do not delay the runs that start then.
func (d Dispatch) Lead() time.Duration {
	const between = 600 * time.Millisecond
	if d.ArmAhead < between {
		return d.ArmAhead
	}
	return (d.ArmAhead - between).Truncate(time.Second) + between
}

// Worker configures which runs this process executes.
type Worker struct {
	Enabled       bool
	Capacity      int               // how many attempts run at a time
	Labels        map[string]string // jobs select workers by them with the key workers
	ShutdownGrace time.Duration     // how long running attempts may go on when the process stops
	Refs          Refs
	HTTP          Reach
}

// Notify configures which references and addresses notifiers may use. The leader sends messages from its own machine.
type Notify struct {
	Refs Refs
	HTTP Reach
}

// Refs lists the references that definitions may use on this machine.
type Refs struct {
	Files []string // patterns of absolute paths in the syntax of path.Match; one that ends in /** matches every path below
	Env   []string // patterns of names of variables
}

// Reach lists the networks that definitions may reach from this machine. Without it, they reach everything except loopback,
// link-local addresses, metadata services, and rota's own API and etcd.
type Reach struct {
	Allow []netip.Prefix // also loopback
	Deny  []netip.Prefix // wins over Allow
}

// History configures how many ended runs are kept.
type History struct {
	Success int           // runs of each job that succeeded
	Failed  int           // runs of each job that did not
	MaxAge  time.Duration // of any run
}

// Log configures the log of this process.
type Log struct {
	Level  LogLevel
	Format LogFormat
}

// Auth says who may use the API.
type Auth struct {
	Mode AuthMode
	File string // tokens and roles; needed unless Mode is off
}

// AuthMode is what happens to requests without the right that they need.
type AuthMode string

// The modes.
const (
	AuthOff      AuthMode = "off"      // Everybody may do everything.
	AuthObserve  AuthMode = "observe"  // They are logged, and answered as with off.
	AuthRequired AuthMode = "required" // They are refused.
)

// AuthModes lists every AuthMode.
func AuthModes() []AuthMode { return []AuthMode{AuthOff, AuthObserve, AuthRequired} }

// LogLevel is the least important level that is written.
type LogLevel string

// LogLevels lists every LogLevel.
func LogLevels() []LogLevel { return []LogLevel{"trace", "debug", "info", "warn", "error"} }

// LogFormat is the format of a log line.
type LogFormat string

// LogFormats lists every LogFormat.
func LogFormats() []LogFormat { return []LogFormat{"json", "text"} }

// The origins of a setting.
const (
	OriginFlag    = "flag"
	OriginEnv     = "env"
	OriginFile    = "file"
	OriginDefault = "default"
)

// Origins returns the origin of each setting, such as node.name: OriginFlag, OriginEnv, OriginFile or OriginDefault.
func (s Settings) Origins() map[string]string {
	origins := make(map[string]string, len(s.origins))
	maps.Copy(origins, s.origins)
	return origins
}
