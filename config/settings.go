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
	Hooks    Hooks
	Jobs     string // job file or directory; empty: jobs come from the API alone
	Output   Output
	History  History
	Bounds   Bounds
	Metrics  Metrics
	Log      Log
	Auth     Auth
	Insecure bool // allows an API without authentication to listen on addresses beyond loopback

	// Warnings are mistakes that do not stop the process, such as an unknown ROTA_… variable.
	Warnings []string

	origins map[string]string
}

// Node identifies this process.
type Node struct {
	Name    string // unique in the cluster, a DNS-1123 label; default: the host's name
	DataDir string // directory of embedded etcd, the outcome journal and output; if rota runs as root, default /var/lib/rota
}

// HTTP is the address of the API.
type HTTP struct {
	Listen    string   // host:port
	Advertise string   // host:port at which other processes reach it; default: made from Listen
	Hosts     []string // further names of the API, besides addresses, Advertise and the node's name; *.domain matches all below
	TLS       ServerTLS
	Socket    string // path of a Unix socket for the API; empty: api.sock in Node.DataDir; SocketOff: none
}

// SocketOff is the value of HTTP.Socket that opens no socket.
const SocketOff = "off"

// ServerTLS names PEM files. If all are empty, the API uses plain HTTP.
type ServerTLS struct {
	Cert     string
	Key      string
	ClientCA string // clients must have a certificate of this authority
	Optional bool   // also accept plain HTTP on the same port, and call processes that have no TLS yet
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

// ClientTLS names PEM files with the credentials for etcd.
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
	TLS     ClientTLS // of the member, for clients and other members; with it, the URLs of the member are https unless TLSOptional
	// TLSOptional accepts connections without TLS beside those with it, and URLs of both schemes. It serves a change to TLS, or back.
	TLSOptional bool
	Rejoin      Rejoin
}

// Rejoin says who changes the members of an embedded cluster.
type Rejoin string

// The values of Rejoin.
const (
	RejoinManual Rejoin = "manual" // The operator adds and removes members.
	RejoinAuto   Rejoin = "auto"   // The members follow Cluster, and a member that lost its data joins again.
)

// Rejoins lists every Rejoin.
func Rejoins() []Rejoin { return []Rejoin{RejoinManual, RejoinAuto} }

// Election configures the election of the leader.
type Election struct {
	TTL time.Duration // after this time a lost leader is replaced; whole seconds, at least 2 s
	// FastTakeover lets a replica end the term of a leader whose process is proven dead. It then does not wait for TTL.
	FastTakeover bool
}

// Dispatch configures how the leader dispatches runs.
type Dispatch struct {
	ArmAhead       time.Duration // how long before its slot a run is assigned to a worker; 0: at the slot
	MaxClockOffset time.Duration // a replica with a larger clock offset does not lead
}

// Lead returns how long before its slot a run is armed. This is a little less than ArmAhead, because most slots are on whole
// seconds. So arming happens between two seconds, and does not delay the runs that start on a second.
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
	Kinds         []string          // what it executes at all, of job.WorkerKinds
	Labels        map[string]string // a job selects workers by these labels with its key workers
	RunAs         string            // user of commands, as name or uid, and optionally :group; empty: the user of this process
	ShutdownGrace time.Duration     // how long running attempts may continue when the process stops
	Pressure      Pressure
	Refs          Refs
	HTTP          Reach
	Container     Engine
	Kubernetes    Kubernetes
}

// Pressure limits the pressure of a machine, in percent, up to which its worker takes runs; 0: it takes them under any.
type Pressure struct{ Memory, CPU int }

// Engine configures the engine that runs containers on this machine.
type Engine struct {
	Socket   string   // of Docker's engine, as the absolute path of a unix socket
	Volumes  []string // patterns of paths and names of volumes that jobs may mount, in the syntax of path.Match
	Networks []string // patterns of networks that jobs may name
}

// Kubernetes is the cluster in which the worker executes jobs of the kind kubernetes.
type Kubernetes struct {
	Kubeconfig string   // file with the address and the credentials; empty: those of the pod in which this process runs
	Namespaces []string // where jobs may be, the default first; empty: the namespace of the credentials
	Allow      []string // fields of pods that jobs may set besides harmless ones: see kubernetes.Config
}

// Notify configures which references and addresses notifiers may use. The leader sends messages from its own machine.
type Notify struct {
	Refs Refs
	HTTP Reach
	Ping ClusterPing
}

// ClusterPing configures the ping that the leader sends while it dispatches, for a service that alarms when it stays away.
type ClusterPing struct {
	URL     string // with references as in notifiers; empty: no ping
	Service string // the form of the ping; of job.PingServices
	Every   time.Duration
}

// Hooks configures which references the secrets of hooks may use on this replica.
type Hooks struct {
	Refs Refs
}

// Refs lists the references that definitions may use on this machine.
type Refs struct {
	Files []string // patterns of absolute paths in the syntax of path.Match; one that ends in /** matches every path below
	Env   []string // patterns of names of variables
}

// Reach lists the networks that definitions may reach from this machine. By default they reach everything except loopback,
// link-local addresses, metadata services, and rota's own API and etcd.
type Reach struct {
	Allow []netip.Prefix // networks that are allowed, even loopback
	Deny  []netip.Prefix // networks that are forbidden, even if Allow has them
}

// Output configures where the output of attempts is kept besides its worker.
type Output struct {
	Store string        // a directory that all machines share, or the URL of a bucket; empty: output is on its worker only
	Keep  time.Duration // largest age of output there
}

// History configures how many ended runs are kept.
type History struct {
	Success int           // number of succeeded runs of each job
	Failed  int           // number of runs of each job with any other outcome
	MaxAge  time.Duration // largest age of a run
}

// Bounds configures how much clients may store and ask for.
type Bounds struct {
	Waiting int // submitted runs of all jobs that may await their start
	Jobs    int // definitions
	Space   int // percent of etcd's quota up to which submissions and new definitions are accepted
	Reads   int // reads of one client from one process in a second; 0: any number
}

// Metrics configures the metrics of this process.
type Metrics struct {
	Jobs int // the largest number of jobs with metrics of their own, the first ones by name; 0: none
}

// Log configures the log of this process.
type Log struct {
	Level  LogLevel
	Format LogFormat
}

// Auth configures which clients may use the API.
type Auth struct {
	Mode AuthMode
	File string // tokens and roles; needed unless Mode is off
	OIDC OpenID
}

// OpenID is the OpenID provider that proves people and programs. Without an Issuer there is none.
type OpenID struct {
	Issuer           string   // URL, which the provider's tokens have as iss
	ClientID         string   // of the page at the provider; tokens for it are accepted
	ClientSecretFile string   // file with the secret of the client; empty: it has none
	CLIClientID      string   // of rota login at the provider, a client without a secret; default: ClientID
	Audiences        []string // further audiences of tokens that are accepted
	Scopes           []string // that the page and rota login ask for
	PrincipalClaim   string   // claim with the name of the principal
	GroupsClaim      string   // claim with the groups of the principal
	CA               string   // PEM file with authorities of the provider's certificate, besides those of the system
}

// AuthMode says what happens to a request whose caller lacks the necessary right.
type AuthMode string

// The modes.
const (
	AuthOff      AuthMode = "off"      // Everybody may do everything.
	AuthObserve  AuthMode = "observe"  // The request is logged, and answered as with off.
	AuthRequired AuthMode = "required" // The request is refused.
)

// AuthModes lists every AuthMode.
func AuthModes() []AuthMode { return []AuthMode{AuthOff, AuthObserve, AuthRequired} }

// LogLevel is the lowest level of the lines that are written.
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
