package config

import (
	_ "embed" // the list of zones
	"strings"

	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// zones.txt lists the names of the IANA time zone database, one a line. It serves suggestions only: what is a zone is
// decided by package schedule.
//
//go:embed zones.txt
var zones string

// LikelyZone returns the IANA zone that name was probably meant to be, or "".
func LikelyZone(name string) string {
	if name == "" || len(name) > 64 {
		return ""
	}
	want := strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
	list := strings.Fields(zones)
	for _, z := range list {
		if strings.EqualFold(z, want) {
			return z
		}
	}
	for _, z := range list {
		if i := strings.LastIndexByte(z, '/'); i >= 0 && strings.EqualFold(z[i+1:], want) {
			return z
		}
	}
	if len(want) < 5 { // every abbreviation is near another one
		return ""
	}
	return suggest.Nearest(want, list)
}
