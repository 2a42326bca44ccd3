package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// unit is a unit file of systemd.
type unit struct {
	file    string
	entries []entry
}

// entry is an assignment within a section.
type entry struct {
	line               int
	section, key, text string
}

// numbered is a line of a text.
type numbered struct {
	n    int // from 1
	text string
}

// linesOf returns the lines of a text, without the mark with which editors of Windows begin a file.
func linesOf(text string) (lines []numbered) {
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.Lines(text) {
		lines = append(lines, numbered{len(lines) + 1, line})
	}
	return lines
}

// parseUnit reads a unit file. If a line ends with a backslash, it continues on the next line.
func parseUnit(file string, lines []numbered) *unit {
	u := &unit{file: file}
	section, pending, began := "", "", 0
	for _, l := range append(lines, numbered{}) { // an empty line ends a file whose last line has a backslash
		line := strings.TrimSpace(l.text)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if pending == "" {
			began = l.n
		}
		if rest, ok := strings.CutSuffix(line, `\`); ok {
			pending += rest + " "
			continue
		}
		line, pending = pending+line, ""
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok {
			u.entries = append(u.entries, entry{began, section, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return u
}

// all returns the values of a key, or of keys that set the same. An empty value resets the list, as systemd does.
func (u *unit) all(section string, keys ...string) (list []entry) {
	for _, e := range u.entries {
		switch {
		case e.section != section || !slices.Contains(keys, e.key):
		case e.text == "":
			list = nil
		default:
			list = append(list, e)
		}
	}
	return list
}

// last returns the valid entry of keys that take one value, which is the last one. It returns the zero entry if there is none.
func (u *unit) last(section string, keys ...string) entry {
	list := u.all(section, keys...)
	if len(list) == 0 {
		return entry{}
	}
	return list[len(list)-1]
}

// truth reads a boolean of systemd.
func truth(text string) bool {
	switch strings.ToLower(text) {
	case "1", "yes", "true", "on", "y", "t":
		return true
	}
	return false
}

// unitHeader is the line with which `systemctl cat` begins a unit file. A file for a part of a unit has the suffix .conf.
var unitHeader = regexp.MustCompile(`^#\s+(\S+\.(?:timer|service|conf))$`)

// splitUnits splits the output of `systemctl cat` into unit files by name. Each keeps the numbers of its lines. The .conf files
// below a unit continue it.
func splitUnits(text string) (map[string][]numbered, error) {
	units, current := map[string][]numbered{}, ""
	for _, line := range linesOf(text) {
		m := unitHeader.FindStringSubmatch(strings.TrimSpace(line.text))
		switch {
		case m != nil && strings.HasSuffix(m[1], ".conf"):
		case m != nil:
			current = m[1]
			units[current] = append(units[current], line) // a comment of the unit
		case current != "":
			units[current] = append(units[current], line)
		case strings.TrimSpace(line.text) != "":
			return nil, fmt.Errorf("line %d: the name of the unit is missing. "+
				"Begin each unit with a comment such as # backup.timer, as `systemctl cat backup.timer backup.service` does", line.n)
		}
	}
	return units, nil
}
