package send

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// withHost lists the services whose URLs contain the host of a server, or may contain one. In the URLs of other services, a secret
// stands in the place of the host. A look-up of that secret would send it to the name server.
var withHost = []string{
	"bark", "generic", "googlechat", "gotify", "hangouts", "matrix", "mattermost", "ntfy", "opsgenie", "pagerduty", "rocketchat",
	"signal", "smtp", "zulip",
}

// checkHost returns an error if the guard refuses the host of a URL.
//
// Shoutrrr dials without this guard, so checkHost resolves and checks the host first. It does not notice if the name resolves
// differently when shoutrrr dials. For rota's own webhooks, the guard checks the address again when it is dialled.
func (s *Services) checkHost(ctx context.Context, service, full string) error {
	u, malformed := url.Parse(full) // the service reports a malformed URL
	if s.cfg.Reach == nil || malformed != nil || !slices.Contains(withHost, service) {
		return nil
	}
	hosts, ports := []string{u.Hostname()}, []string{cmp.Or(u.Port(), "443")}
	if u.Hostname() == "" && (service == "signal" || service == "smtp") { // these reach this machine then
		hosts[0] = "localhost"
	}
	if service == "signal" { // its parameters count more than the host and the port in its URL
		for key, values := range u.Query() {
			switch strings.ToLower(key) {
			case "host":
				hosts = append(hosts, values...)
			case "port":
				ports = append(ports, values...)
			}
		}
	}
	for _, host := range hosts {
		addrs, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // no error: a proxy may know a name that is unknown here
		for _, addr := range addrs {
			for _, text := range ports {
				port, _ := strconv.ParseUint(text, 10, 16) // the service reports a malformed port
				if err := s.cfg.Reach.Check(netip.AddrPortFrom(addr, uint16(port))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
