package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// derive sets defaults that depend on other settings or on the machine.
func (s *Settings) derive() {
	if s.Node.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = ""
		}
		s.Node.Name = label(host)
	}
	if s.HTTP.Advertise == "" {
		s.HTTP.Advertise = s.HTTP.Listen
		host, port, err := net.SplitHostPort(s.HTTP.Listen)
		if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
			s.HTTP.Advertise = net.JoinHostPort(s.Node.Name, port)
		}
	}
	if len(s.Etcd.Endpoints) > 0 {
		s.Etcd.Embedded = Embedded{}
	}
	if s.Auth.OIDC.CLIClientID == "" {
		s.Auth.OIDC.CLIClientID = s.Auth.OIDC.ClientID
	}
}

// unused returns a warning for each setting that has no effect because of other settings.
func (s *Settings) unused() (warnings []string) {
	var keys []string
	for _, setting := range settings {
		if strings.HasPrefix(setting.key, "etcd.embedded.") && s.origins[setting.key] != OriginDefault {
			keys = append(keys, setting.key)
		}
	}
	if len(s.Etcd.Endpoints) > 0 && len(keys) > 0 {
		warnings = append(warnings, "not used, since etcd.endpoints is given: "+strings.Join(keys, ", "))
	}
	return warnings
}

// label makes a DNS-1123 label from the first part of a host's name. It returns "" if no valid character is left.
func label(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	host = strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return '-'
	}, host)
	return strings.Trim(host[:min(len(host), job.MaxNameLength)], "-")
}

// failAt returns a function that reports a mistake in a setting. The report has the place of the setting's value.
func failAt(sources map[string]given) func(key, hint, format string, args ...any) {
	return func(key, hint, format string, args ...any) {
		g := sources[key]
		g.reader.fail(g.node, hint, "%s", key+" "+fmt.Sprintf(format, args...))
	}
}

// checkStore checks the settings of the connection to etcd.
func (s *Settings) checkStore(sources map[string]given) {
	fail := failAt(sources)
	s.checkLogin(fail)
	s.checkEtcd(fail)
}

// check checks settings whose values have the right form. It reports each mistake at the place of its value.
func (s *Settings) check(sources map[string]given) {
	fail := failAt(sources)
	between := func(key string, d, low, high time.Duration) {
		if d < low || d > high {
			may := job.Range[job.Duration]{Low: job.Duration(low), High: job.Duration(high)}
			fail(key, within("a duration", may), "%v is not between %v and %v", job.Duration(d), may.Low, may.High)
		}
	}
	if err := job.CheckName(s.Node.Name); err != nil {
		fail("node.name", "set node.name, --node-name or ROTA_NODE_NAME", "is no name: %v", err)
	}
	if s.Node.DataDir == "" {
		fail("node.data_dir", "set node.data_dir, --node-data-dir or ROTA_NODE_DATA_DIR",
			"has no default, since neither XDG_STATE_HOME nor HOME is set")
	}
	if reason := checkAddress(s.HTTP.Listen); reason != "" {
		fail("http.listen", "such as 127.0.0.1:8470", "%s %s", quote(s.HTTP.Listen), reason)
	} else if reason := checkReachable(s.HTTP.Advertise); reason != "" {
		fail("http.advertise", "such as q1:8470", "%s %s", quote(s.HTTP.Advertise), reason)
	}
	if path := s.HTTP.Socket; path != "" && path != SocketOff && !filepath.IsAbs(path) {
		fail("http.socket", "such as /run/rota/api.sock, or off", "%s is no absolute path", quote(path))
	}
	if path := s.Worker.Container.Socket; !filepath.IsAbs(path) {
		fail("worker.container.socket", "such as /var/run/docker.sock", "%s is no absolute path", quote(path))
	}
	for _, name := range s.Worker.Kubernetes.Namespaces {
		if err := job.CheckName(name); err != nil {
			fail("worker.kubernetes.namespaces", "a list of names of namespaces, such as [jobs, reports]", "is no list of names: %v", err)
		}
	}
	s.checkFiles(fail)
	s.checkAuth(fail)
	s.checkOpenID(fail)
	s.checkLogin(fail)
	s.checkEtcd(fail)
	s.checkCluster(fail)
	between("election.ttl", s.Election.TTL, 2*time.Second, 10*time.Minute)
	if s.Election.TTL%time.Second != 0 {
		fail("election.ttl", "etcd counts in seconds", "%v is not a whole number of seconds", s.Election.TTL)
	}
	between("dispatch.arm_ahead", s.Dispatch.ArmAhead, 0, time.Minute)
	between("dispatch.max_clock_offset", s.Dispatch.MaxClockOffset, 10*time.Millisecond, time.Minute)
	if may := job.CapacityRange; !may.Holds(s.Worker.Capacity) {
		fail("worker.capacity", "to execute nothing here set worker.enabled: false",
			"%d is not between %d and %d", s.Worker.Capacity, may.Low, may.High)
	}
	s.checkKinds(fail)
	between("worker.shutdown_grace", s.Worker.ShutdownGrace, 0, 24*time.Hour)
	s.checkOutputStore(fail)
	between("output.keep", s.Output.Keep, time.Hour, job.MaxDuration.Std())
	between("history.max_age", s.History.MaxAge, time.Hour, job.MaxDuration.Std())
	s.checkBounds(fail)
	s.checkPing(fail)
}

// checkAuth reports an API that everybody on the network could use.
func (s *Settings) checkAuth(fail func(key, hint, format string, args ...any)) {
	if s.Auth.Mode != AuthOff && s.Auth.File == "" {
		fail("auth.file", "name a file with tokens and roles; rota token create prints its entries",
			"is needed with auth.mode: %s", s.Auth.Mode)
	}
	host, _, err := net.SplitHostPort(s.HTTP.Listen)
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if err == nil && !loopback && s.Auth.Mode != AuthRequired && (s.HTTP.TLS.ClientCA == "" || s.HTTP.TLS.Optional) && !s.Insecure {
		const hint = "set auth.mode: required with auth.file, or http.tls.client_ca; " +
			"insecure: true accepts that everybody who reaches it runs commands"
		fail("http.listen", hint, "%s is not a loopback address, and auth.mode is %s", quote(s.HTTP.Listen), s.Auth.Mode)
	}
}

// checkFiles checks that no certificate lacks its key.
func (s *Settings) checkFiles(fail func(key, hint, format string, args ...any)) {
	if (s.HTTP.TLS.Cert == "") != (s.HTTP.TLS.Key == "") {
		pairMissing(fail, s.HTTP.TLS.Cert != "", "http.tls.cert", "http.tls.key")
	}
	if s.HTTP.TLS.Optional && s.HTTP.TLS.Cert == "" {
		fail("http.tls.optional", "give http.tls.cert and http.tls.key", "is given without http.tls.cert")
	}
	if s.HTTP.TLS.ClientCA != "" && s.HTTP.TLS.Cert == "" {
		fail("http.tls.client_ca", "give http.tls.cert and http.tls.key", "is given without http.tls.cert")
	}
}

// checkLogin checks the credentials for etcd: each certificate needs its key, and each user a password.
func (s *Settings) checkLogin(fail func(key, hint, format string, args ...any)) {
	if (s.Etcd.TLS.Cert == "") != (s.Etcd.TLS.Key == "") {
		pairMissing(fail, s.Etcd.TLS.Cert != "", "etcd.tls.cert", "etcd.tls.key")
	}
	if (s.Etcd.Username == "") != (s.Etcd.PasswordFile == "") {
		pairMissing(fail, s.Etcd.Username != "", "etcd.username", "etcd.password_file")
	}
}

// pairMissing reports that only one of the settings a and b is given. first says that a is the given one.
func pairMissing(fail func(key, hint, format string, args ...any), first bool, a, b string) {
	given := b
	if first {
		given = a
	}
	fail(given, "give "+a+" and "+b, "is given without its counterpart")
}

// checkURL describes the mistake in the URL of a server; empty if there is none.
func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "does not begin with http:// or https://"
	case u.Hostname() == "" || u.Port() == "":
		return "needs a host and a port"
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil:
		return "has more than a host and a port"
	}
	return ""
}

// checkAddress describes the mistake in host:port; empty if there is none.
func checkAddress(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "is not host:port"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "has a port that is not between 0 and 65535"
	}
	return ""
}

// checkReachable is checkAddress for an address at which other processes reach this one.
func checkReachable(addr string) string {
	if reason := checkAddress(addr); reason != "" {
		return reason
	}
	host, _, _ := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "cannot be reached by others"
	}
	return ""
}
