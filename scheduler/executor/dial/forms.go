package dial

import "net/netip"

// forms returns an address, and the IPv4 address that it wraps if there is one.
func forms(addr netip.Addr) []netip.Addr {
	addr = addr.WithZone("").Unmap()
	if addr.Is4() || addr.IsLoopback() || addr.IsUnspecified() { // ::1 and :: wrap nothing
		return []netip.Addr{addr}
	}
	all := []netip.Addr{addr}
	b := addr.As16()
	for _, w := range wrappers {
		if w.prefix.Contains(addr) {
			all = append(all, netip.AddrFrom4([4]byte(b[w.at:w.at+4])))
		}
	}
	return all
}

// wrappers are the prefixes whose addresses hold an IPv4 address, and the byte at which it begins.
var wrappers = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64, RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},  // NAT64 for local use, RFC 8215, as most translators lay it out
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated, RFC 7915
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible
}
