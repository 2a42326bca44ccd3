package send

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
)

// withHost are the services whose URLs have the host of a server. In the URLs of other services a secret stands in its place, and
// looking that up would hand it to the name server.
var withHost = []string{"bark", "generic", "gotify", "matrix", "mattermost", "ntfy", "rocketchat", "signal", "smtp", "zulip"}

// checkHost returns the guard's refusal of the host of a URL.
//
// Shoutrrr dials without our guard, so checkHost resolves its targets and checks them before. If a name changes between the two
// look-ups, the check misses that. Rota's own webhooks are checked again when they are dialled.
func (s *Services) checkHost(ctx context.Context, service, full string) error {
	u, malformed := url.Parse(full) // the service reports that
	if s.cfg.Reach == nil || malformed != nil || !slices.Contains(withHost, service) {
		return nil
	}
	addrs, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()) // a proxy may know a name that is unknown here
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
