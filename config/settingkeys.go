package config

import (
	"strings"
)

// setting is one value of Settings. Its key gives the names of its flag and its variable: node.data_dir has the flag
// --node-data-dir and the variable ROTA_NODE_DATA_DIR.
type setting struct {
	key      string
	usage    string
	standard string // the default as text; empty if there is none, or if it depends on the machine
	at       func(s *Settings) any
}

// settings lists every setting in the order of a written file.
var settings = []setting{
	{"node.name", "name of this process in the cluster", "", func(s *Settings) any { return &s.Node.Name }},
	{"node.data_dir", "directory for everything that is kept on this machine", "", func(s *Settings) any { return &s.Node.DataDir }},
	{"http.listen", "host:port of the API", "127.0.0.1:8470", func(s *Settings) any { return &s.HTTP.Listen }},
	{"http.advertise", "host:port under which others reach the API", "", func(s *Settings) any { return &s.HTTP.Advertise }},
	{
		"http.hosts", "further names under which the API answers; *.domain for all below a domain; by commas", "",
		func(s *Settings) any { return &s.HTTP.Hosts },
	},
	{
		"http.socket", "Unix socket of the API, for the user of this process and root; off: none (default api.sock in node.data_dir)", "",
		func(s *Settings) any { return &s.HTTP.Socket },
	},
	{"http.tls.cert", "PEM file with the certificate of the API", "", func(s *Settings) any { return &s.HTTP.TLS.Cert }},
	{"http.tls.key", "PEM file with the key of the API", "", func(s *Settings) any { return &s.HTTP.TLS.Key }},
	{
		"http.tls.client_ca", "PEM file with the authority of clients' certificates", "",
		func(s *Settings) any { return &s.HTTP.TLS.ClientCA },
	},
	{
		"http.tls.optional", "also accept plain HTTP on the same port, while a cluster changes to TLS or back", "false",
		func(s *Settings) any { return &s.HTTP.TLS.Optional },
	},
	{"etcd.endpoints", "URLs of etcd, by commas; none: embedded", "", func(s *Settings) any { return &s.Etcd.Endpoints }},
	{"etcd.prefix", "prefix of every key in etcd", "/rota", func(s *Settings) any { return &s.Etcd.Prefix }},
	{"etcd.tls.cert", "PEM file with the certificate for etcd", "", func(s *Settings) any { return &s.Etcd.TLS.Cert }},
	{"etcd.tls.key", "PEM file with the key for etcd", "", func(s *Settings) any { return &s.Etcd.TLS.Key }},
	{"etcd.tls.ca", "PEM file with the authority of etcd's certificates", "", func(s *Settings) any { return &s.Etcd.TLS.CA }},
	{"etcd.username", "user of etcd", "", func(s *Settings) any { return &s.Etcd.Username }},
	{
		"etcd.password_file", "file with the password of the user of etcd", "",
		func(s *Settings) any { return &s.Etcd.PasswordFile },
	},
	{
		"etcd.embedded.client", "URL of the embedded etcd for clients", "http://127.0.0.1:2379",
		func(s *Settings) any { return &s.Etcd.Embedded.Client },
	},
	{
		"etcd.embedded.peer", "URL of the embedded etcd for its peers", "http://127.0.0.1:2380",
		func(s *Settings) any { return &s.Etcd.Embedded.Peer },
	},
	{
		"etcd.embedded.cluster", "name=URL of every embedded peer, by commas", "",
		func(s *Settings) any { return &s.Etcd.Embedded.Cluster },
	},
	{
		"etcd.embedded.rejoin", "manual, or auto: whether members join and leave by themselves", "manual",
		func(s *Settings) any { return &s.Etcd.Embedded.Rejoin },
	},
	{
		"etcd.embedded.tls.cert", "PEM file with the certificate of the embedded etcd, for clients and peers", "",
		func(s *Settings) any { return &s.Etcd.Embedded.TLS.Cert },
	},
	{
		"etcd.embedded.tls.key", "PEM file with the key of the embedded etcd", "",
		func(s *Settings) any { return &s.Etcd.Embedded.TLS.Key },
	},
	{
		"etcd.embedded.tls.ca", "PEM file with the authority that clients and peers of the embedded etcd must have", "",
		func(s *Settings) any { return &s.Etcd.Embedded.TLS.CA },
	},
	{
		"etcd.embedded.tls.optional", "also accept connections without TLS, while a cluster changes to TLS or back", "false",
		func(s *Settings) any { return &s.Etcd.Embedded.TLSOptional },
	},
	{"election.ttl", "time after which a lost leader is replaced", "5s", func(s *Settings) any { return &s.Election.TTL }},
	{
		"election.fast_takeover", "replace a leader at once when its process is proven dead", "true",
		func(s *Settings) any { return &s.Election.FastTakeover },
	},
	{
		"dispatch.arm_ahead", "how long before its slot a run is given to a worker", "2s",
		func(s *Settings) any { return &s.Dispatch.ArmAhead },
	},
	{
		"dispatch.max_clock_offset", "a replica whose clock is further off does not lead", "500ms",
		func(s *Settings) any { return &s.Dispatch.MaxClockOffset },
	},
	{"worker.enabled", "execute runs", "true", func(s *Settings) any { return &s.Worker.Enabled }},
	{"worker.capacity", "attempts executed at a time", "64", func(s *Settings) any { return &s.Worker.Capacity }},
	{
		"worker.kinds", "kinds that this worker executes: command (with shell), http, handler, container, kubernetes; by commas",
		"command,http,handler",
		func(s *Settings) any { return &s.Worker.Kinds },
	},
	{
		"worker.run_as", "user of commands: name or uid, and :group if wanted (default the user of this process)", "",
		func(s *Settings) any { return &s.Worker.RunAs },
	},
	{
		"worker.labels", "labels that jobs can ask for: name=value, by commas", "",
		func(s *Settings) any { return &s.Worker.Labels },
	},
	{
		"worker.shutdown_grace", "time that running attempts get at shutdown", "25s",
		func(s *Settings) any { return &s.Worker.ShutdownGrace },
	},
	{
		"worker.pressure.memory", "memory pressure in percent from which the worker takes no runs; 0: none", "60",
		func(s *Settings) any { return &s.Worker.Pressure.Memory },
	},
	{
		"worker.pressure.cpu", "CPU pressure in percent from which the worker takes no runs; 0: none", "0",
		func(s *Settings) any { return &s.Worker.Pressure.CPU },
	},
	{
		"worker.refs.files", "patterns of files that jobs may name by ${file:}, by commas", "/run/secrets/*",
		func(s *Settings) any { return &s.Worker.Refs.Files },
	},
	{
		"worker.refs.env", "patterns of variables that jobs may name by ${env:}, by commas", "ROTA_SECRET_*",
		func(s *Settings) any { return &s.Worker.Refs.Env },
	},
	{
		"worker.http.allow", "networks that jobs may reach, loopback too, by commas", "",
		func(s *Settings) any { return &s.Worker.HTTP.Allow },
	},
	{
		"worker.http.deny", "networks that jobs may not reach, by commas", "",
		func(s *Settings) any { return &s.Worker.HTTP.Deny },
	},
	{
		"worker.container.socket", "unix socket of Docker's engine, for containers", "/var/run/docker.sock",
		func(s *Settings) any { return &s.Worker.Container.Socket },
	},
	{
		"worker.container.volumes", "patterns of paths and names of volumes that containers may mount, by commas", "",
		func(s *Settings) any { return &s.Worker.Container.Volumes },
	},
	{
		"worker.container.networks", "patterns of networks that containers may name, by commas", "none,bridge",
		func(s *Settings) any { return &s.Worker.Container.Networks },
	},
	{
		"worker.kubernetes.kubeconfig", "file with the Kubernetes cluster for jobs of the kind kubernetes (default that of this pod)", "",
		func(s *Settings) any { return &s.Worker.Kubernetes.Kubeconfig },
	},
	{
		"worker.kubernetes.namespaces", "namespaces that such jobs may use, the default first, by commas", "",
		func(s *Settings) any { return &s.Worker.Kubernetes.Namespaces },
	},
	{
		"worker.kubernetes.allow", "fields of pods that such jobs may set, besides harmless ones, by commas", "",
		func(s *Settings) any { return &s.Worker.Kubernetes.Allow },
	},
	{
		"notify.refs.files", "patterns of files that notifiers may name by ${file:}, by commas", "/run/secrets/*",
		func(s *Settings) any { return &s.Notify.Refs.Files },
	},
	{
		"notify.refs.env", "patterns of variables that notifiers may name by ${env:}, by commas", "ROTA_SECRET_*",
		func(s *Settings) any { return &s.Notify.Refs.Env },
	},
	{
		"notify.http.allow", "networks that notifiers may reach, loopback too, by commas", "",
		func(s *Settings) any { return &s.Notify.HTTP.Allow },
	},
	{
		"notify.http.deny", "networks that notifiers may not reach, by commas", "",
		func(s *Settings) any { return &s.Notify.HTTP.Deny },
	},
	{
		"notify.ping.url", "URL of a check that the leader pings while it dispatches; empty: none", "",
		func(s *Settings) any { return &s.Notify.Ping.URL },
	},
	{
		"notify.ping.service", "form of this ping: healthchecks, cronitor, deadmanssnitch or uptimekuma", "healthchecks",
		func(s *Settings) any { return &s.Notify.Ping.Service },
	},
	{"notify.ping.every", "time between two of these pings", "1m", func(s *Settings) any { return &s.Notify.Ping.Every }},
	{
		"hooks.refs.files", "patterns of files that secrets of hooks may name by ${file:}, by commas", "/run/secrets/*",
		func(s *Settings) any { return &s.Hooks.Refs.Files },
	},
	{
		"hooks.refs.env", "patterns of variables that secrets of hooks may name by ${env:}, by commas", "ROTA_SECRET_*",
		func(s *Settings) any { return &s.Hooks.Refs.Env },
	},
	{"jobs", "job file or directory", "", func(s *Settings) any { return &s.Jobs }},
	{
		"output.store", "shared directory, or s3://bucket/prefix, to which workers copy output; empty: it stays on its worker", "",
		func(s *Settings) any { return &s.Output.Store },
	},
	{"output.keep", "age up to which output is kept in output.store", "720h", func(s *Settings) any { return &s.Output.Keep }},
	{"history.success", "runs kept of each job that succeeded", "100", func(s *Settings) any { return &s.History.Success }},
	{
		"history.failed", "runs kept of each job that did not succeed", "1000",
		func(s *Settings) any { return &s.History.Failed },
	},
	{"history.max_age", "age up to which runs are kept", "168h", func(s *Settings) any { return &s.History.MaxAge }},
	{
		"bounds.waiting", "submitted runs that may wait for their start, in all jobs together", "50000",
		func(s *Settings) any { return &s.Bounds.Waiting },
	},
	{"bounds.jobs", "jobs that may be defined", "1000000", func(s *Settings) any { return &s.Bounds.Jobs }},
	{
		"bounds.space", "percent of etcd's quota up to which submissions and new jobs are accepted", "80",
		func(s *Settings) any { return &s.Bounds.Space },
	},
	{"bounds.reads", "reads of one client in a second; 0: any number", "1000", func(s *Settings) any { return &s.Bounds.Reads }},
	{
		"metrics.jobs", "jobs that have metrics of their own, the first ones by name; 0: none", "1000",
		func(s *Settings) any { return &s.Metrics.Jobs },
	},
	{"log.level", "trace, debug, info, warn or error", "info", func(s *Settings) any { return &s.Log.Level }},
	{"log.format", "json or text", "json", func(s *Settings) any { return &s.Log.Format }},
	{
		"auth.mode", "off, observe or required: whether requests need a token or certificate with a role", "off",
		func(s *Settings) any { return &s.Auth.Mode },
	},
	{"auth.file", "file with tokens and roles", "", func(s *Settings) any { return &s.Auth.File }},
	{
		"auth.oidc.issuer", "URL of the OpenID provider; none: nobody signs in by one", "",
		func(s *Settings) any { return &s.Auth.OIDC.Issuer },
	},
	{
		"auth.oidc.client_id", "client of the page at the OpenID provider", "",
		func(s *Settings) any { return &s.Auth.OIDC.ClientID },
	},
	{
		"auth.oidc.client_secret_file", "file with the secret of auth.oidc.client_id", "",
		func(s *Settings) any { return &s.Auth.OIDC.ClientSecretFile },
	},
	{
		"auth.oidc.cli_client_id", "client of rota login at the OpenID provider (default auth.oidc.client_id)", "",
		func(s *Settings) any { return &s.Auth.OIDC.CLIClientID },
	},
	{
		"auth.oidc.audiences", "further audiences of tokens that are accepted, by commas", "",
		func(s *Settings) any { return &s.Auth.OIDC.Audiences },
	},
	{
		"auth.oidc.scopes", "scopes that a sign-in asks for, by commas", "openid,email,profile",
		func(s *Settings) any { return &s.Auth.OIDC.Scopes },
	},
	{
		"auth.oidc.principal_claim", "claim of a token with the name of its principal", "email",
		func(s *Settings) any { return &s.Auth.OIDC.PrincipalClaim },
	},
	{
		"auth.oidc.groups_claim", "claim of a token with the groups of its principal", "groups",
		func(s *Settings) any { return &s.Auth.OIDC.GroupsClaim },
	},
	{
		"auth.oidc.ca", "PEM file with authorities of the OpenID provider's certificate, besides the system's", "",
		func(s *Settings) any { return &s.Auth.OIDC.CA },
	},
	{
		"insecure", "listen beyond loopback although everybody who reaches the API may do everything", "false",
		func(s *Settings) any { return &s.Insecure },
	},
}

func (s setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.key) }
func (s setting) env() string {
	return "ROTA_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

func settingNames() []string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.key
	}
	return names
}
