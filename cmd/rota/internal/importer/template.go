package importer

import (
	"path"
	"strings"
)

// unitFiles are unit files by their names without directories.
type unitFiles map[string]*unit

// find returns the unit called name, with its specifiers filled in, and the name of its file. The file of an instance such as
// backup@db.service may be the template backup@.service. The unit is nil if there is no file.
func (all unitFiles) find(name string) (u *unit, file string) {
	file = name
	if prefix, _, ok := strings.Cut(name, "@"); ok && all[name] == nil {
		file = prefix + "@" + path.Ext(name)
	}
	if u = all[file]; u == nil {
		return nil, name
	}
	return u.instance(strings.TrimSuffix(name, path.Ext(name))), file
}

// instance returns the unit as an instance called name, without the suffix of its type. Specifiers whose values depend on the
// machine stay, and so do those of names with escapes. They are reported later.
func (u *unit) instance(name string) *unit {
	prefix, instance, ok := strings.Cut(name, "@")
	if !ok || strings.Contains(name, `\`) {
		return u
	}
	pairs := []string{"%%", "%%", "%i", instance, "%p", prefix, "%N", name}
	if !strings.Contains(name, "-") { // systemd reads it as a slash in these
		pairs = append(pairs, "%I", instance, "%P", prefix)
	}
	names, filled := strings.NewReplacer(pairs...), &unit{file: u.file}
	for _, e := range u.entries {
		e.text = names.Replace(e.text)
		filled.entries = append(filled.entries, e)
	}
	return filled
}

// hasSpecifier reports whether a text has a specifier of systemd, such as %i. %% is a percent sign.
func hasSpecifier(text string) bool { return strings.Contains(strings.ReplaceAll(text, "%%", ""), "%") }
