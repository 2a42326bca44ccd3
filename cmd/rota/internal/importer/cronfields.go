package importer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fieldNames are the names that cron knows in the fields of a schedule. The index of a name is its value.
var fieldNames = [5][]string{
	3: strings.Fields("- jan feb mar apr may jun jul aug sep oct nov dec"), 4: strings.Fields("sun mon tue wed thu fri sat"),
}

// fieldItem matches an item of a field that Vixie cron or cronie reads completely. It has the ends of a range as groups.
var fieldItem = regexp.MustCompile(`^(?:\*(?:/\d+)?|\d*~\d*|(\w+)-(\w+)(?:/\d+)?|(\w+))$`)

// cronReads reports whether cron reads a field as rota does. Unlike rota, cron has no step after a single value, no range whose
// end is before its start, and no L, W, # and H. Values that are too large are left to rota's own check.
func cronReads(field string, names []string) bool {
	return !slices.ContainsFunc(strings.Split(field, ","), func(item string) bool {
		m := fieldItem.FindStringSubmatch(item)
		if m == nil {
			return true
		}
		var values []int
		for _, text := range m[1:] {
			v, err := strconv.Atoi(text)
			if err != nil {
				v = slices.Index(names, strings.ToLower(text))
			}
			if text != "" && v < 0 {
				return true
			}
			values = append(values, v)
		}
		return m[1] != "" && values[0] > values[1]
	})
}

// cutField splits a line into its first word and the rest.
func cutField(line string) (field, rest string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return line, "", false
	}
	return line[:at], strings.TrimLeft(line[at:], " \t"), true
}
