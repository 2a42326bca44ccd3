package embedded

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Validate reports everything that is wrong with the config. It uses neither disk
// nor network.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if c.Dir == "" {
		bad("dir is empty: the member needs a data directory")
	}
	if strings.ContainsAny(c.Name, "=, ") {
		bad("name %q has a comma, an equals sign or a space", c.Name)
	}
	if c.Heartbeat < 10*time.Millisecond || c.Heartbeat%time.Millisecond != 0 || c.Election%time.Millisecond != 0 {
		bad("heartbeat %s and election %s must be whole milliseconds, and the heartbeat at least 10ms", c.Heartbeat, c.Election)
	}
	if c.Election < 5*c.Heartbeat || c.Election > 50*time.Second {
		bad("election %s must be at least five heartbeats (%s) and at most 50s", c.Election, 5*c.Heartbeat)
	}
	if c.QuotaBytes < 0 {
		bad("quota_bytes %d is negative", c.QuotaBytes)
	}
	if c.CompactionRetention < time.Second {
		bad("compaction_retention %s is below one second", c.CompactionRetention)
	}
	peers, err := c.peers()
	if err != nil {
		errs = append(errs, err)
	}
	if len(peers) > 0 {
		i := slices.IndexFunc(peers, func(p peer) bool { return p.name == c.Name })
		switch {
		case i < 0:
			bad("cluster %q does not list this member, %q", c.Cluster, c.Name)
		case c.Peer != peers[i].url:
			bad("peer %q differs from %q, which cluster says of %q", c.Peer, peers[i].url, c.Name)
		}
	}
	errs = append(errs,
		c.checkURL("client", c.Client, c.ListenClient, c.ClientTLS),
		c.checkURL("peer", c.Peer, c.ListenPeer, c.PeerTLS))
	if c.Optional && c.ClientTLS.Cert == "" {
		bad("tls is optional, and there is no cert")
	}
	if len(peers) > 1 && strings.HasSuffix(c.Peer, ":0") {
		bad("peer %q has port 0: other members could not find it", c.Peer)
	}
	return errors.Join(errs...)
}

func (c Config) checkURL(what, advertise, listen string, t TLS) error {
	u, err := parseURL(what, advertise)
	if err != nil {
		return err
	}
	if (t.Cert == "") != (t.Key == "") {
		return fmt.Errorf("%s tls needs both a cert and a key", what)
	}
	if u.Scheme == "https" && t.Cert == "" {
		return fmt.Errorf("%s %q needs a tls cert and key", what, advertise)
	}
	if u.Scheme == "http" && t.given() && !c.Optional {
		return fmt.Errorf("%s %q is plain http, but tls files are given: say https", what, advertise)
	}
	if listen == "" {
		return nil
	}
	l, err := parseURL("listen_"+what, listen)
	if err != nil {
		return err
	}
	if l.Scheme != u.Scheme {
		return fmt.Errorf("listen_%s %q and %s %q differ in scheme", what, listen, what, advertise)
	}
	if net.ParseIP(l.Hostname()) == nil && l.Hostname() != "localhost" {
		return fmt.Errorf("listen_%s %q must name an IP address", what, listen)
	}
	return nil
}

func parseURL(what, s string) (url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return url.URL{}, fmt.Errorf("%s: %w", what, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" {
		return url.URL{}, fmt.Errorf("%s %q is not like http://host:port", what, s)
	}
	u.Path = ""
	return *u, nil
}
