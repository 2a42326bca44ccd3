package importer

import (
	"slices"
	"strconv"
	"strings"
)

// robfigSchedule returns the expression of rota that has the slots of text in the library of Kubernetes and dkron. It reports an
// expression whose slots differ.
func (t *translation) robfigSchedule(line int, tool, text string) string {
	fields := strings.Fields(text)
	if len(fields) != 5 && len(fields) != 6 {
		return text
	}
	dom, dow := fields[len(fields)-3], fields[len(fields)-1]
	if combinesDays(dom, dow) {
		t.lost(line, "schedule %q: %s takes a day that matches either field of days, rota one that matches both", text, tool)
	}
	if listed := listWeekdays(dow); listed != dow {
		fields[len(fields)-1] = listed
		return strings.Join(fields, " ")
	}
	return text
}

// combinesDays reports whether rota and that library interpret the fields of days differently. This is so if one of them has a
// step after a star or its synonym ?, because only rota, as Vixie cron, demands then that a day match both.
func combinesDays(dom, dow string) bool {
	dom, dow = strings.Replace(dom, "?", "*", 1), strings.Replace(dow, "?", "*", 1)
	stepped := func(f string) bool { return strings.HasPrefix(f, "*/") && f != "*/1" }
	return dom != "*" && dow != "*" && (stepped(dom) || stepped(dow))
}

// listWeekdays writes out steps that begin at a weekday, such as 1/2. The last day of that library is 6, and that of rota is 7, a
// second number of Sunday.
func listWeekdays(field string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		from, step, ok := strings.Cut(item, "/")
		day, err := strconv.Atoi(from)
		if err != nil {
			day = slices.Index(fieldNames[4], strings.ToLower(from))
		}
		by, err := strconv.Atoi(step)
		if !ok || err != nil || by < 1 || day < 0 || day > 6 {
			continue
		}
		var days []string
		for ; day <= 6; day += by {
			days = append(days, strconv.Itoa(day))
		}
		items[i] = strings.Join(days, ",")
	}
	return strings.Join(items, ",")
}
