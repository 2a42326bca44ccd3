package config

import (
	_ "embed" // the list of zones
	"strings"

	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// zones lists the names of the IANA time zone database, one a line. It is used for suggestions only. Package schedule decides
// which zones exist.
//
//go:embed zones.txt
var zones string

// LikelyZone returns the IANA zone whose name is most similar to name; empty if none is similar.
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
	if len(want) < 5 { // a short word is similar to many zones
		return ""
	}
	return suggest.Nearest(want, list)
}
