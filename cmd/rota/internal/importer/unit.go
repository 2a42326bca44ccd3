package importer

import "strings"

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

// parseUnit reads a unit file. If a line ends with a backslash, it continues on the next line.
func parseUnit(file, text string) *unit {
	u := &unit{file: file}
	section, pending, began := "", "", 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if pending == "" {
			began = i + 1
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

// all returns the values of a key. An empty value resets the list, as systemd does.
func (u *unit) all(section, key string) (list []entry) {
	for _, e := range u.entries {
		switch {
		case e.section != section || e.key != key:
		case e.text == "":
			list = nil
		default:
			list = append(list, e)
		}
	}
	return list
}

// last returns the valid entry of a key that takes one value, which is the last one. It returns the zero entry if there is none.
func (u *unit) last(section, key string) entry {
	list := u.all(section, key)
	if len(list) == 0 {
		return entry{}
	}
	return list[len(list)-1]
}

func truth(text string) bool {
	switch strings.ToLower(text) {
	case "1", "yes", "true", "on", "y", "t":
		return true
	}
	return false
}
