package send

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
)

// withHost lists the services whose URLs contain the host of a server. In the URLs of other services, a secret stands in the
// place of the host. A look-up of that secret would send it to the name server.
var withHost = []string{"bark", "generic", "gotify", "matrix", "mattermost", "ntfy", "rocketchat", "signal", "smtp", "zulip"}

// checkHost returns an error if the guard refuses the host of a URL.
//
// Shoutrrr dials without this guard, so checkHost resolves and checks the host first. It does not notice if the name resolves
// differently when shoutrrr dials. For rota's own webhooks, the guard checks the address again when it is dialled.
func (s *Services) checkHost(ctx context.Context, service, full string) error {
	u, malformed := url.Parse(full) // the service reports a malformed URL
	if s.cfg.Reach == nil || malformed != nil || !slices.Contains(withHost, service) {
		return nil
	}
	addrs, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()) // no error: a proxy may know a name that is unknown here
	port, absent := strconv.ParseUint(u.Port(), 10, 16)
	if absent != nil {
		port = 443
	}
	for _, addr := range addrs {
		if err := s.cfg.Reach.Check(netip.AddrPortFrom(addr, uint16(port))); err != nil {
			return err
		}
	}
	return nil
}
