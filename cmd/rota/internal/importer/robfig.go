package importer

import "strings"

// robfigSchedule reports an expression that has other slots in the library of Kubernetes and dkron.
func (t *translation) robfigSchedule(line int, tool, text string) {
	fields := strings.Fields(text)
	if len(fields) != 5 && len(fields) != 6 {
		return
	}
	dom, dow := fields[len(fields)-3], fields[len(fields)-1]
	if combinesDays(dom, dow) {
		t.lost(line, "schedule %q: %s takes a day that matches either field of days, rota one that matches both", text, tool)
	}
}

// combinesDays reports whether rota and that library interpret the fields of days differently. This is so if one of them has a
// step after a star, because only rota, as Vixie cron, demands then that a day match both.
func combinesDays(dom, dow string) bool {
	stepped := func(f string) bool { return strings.HasPrefix(f, "*/") && f != "*/1" }
	return dom != "*" && dow != "*" && (stepped(dom) || stepped(dow))
}
