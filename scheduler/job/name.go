package job

import (
	"fmt"
	"strings"
)

// MaxNameLength is the longest name of a job, a limit, a notifier or a node, in bytes.
const MaxNameLength = 63

// AdHoc is the job under which commands run that were submitted without a job (`rota submit -- ARGV`).
// No job file may define it.
const AdHoc = "adhoc"

// CheckName returns an error unless the name is a DNS-1123 label: 1 to 63 lower-case letters, digits and dashes, with a
// letter or a digit at both ends.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("name is empty: use 1 to %d lower-case letters, digits and dashes", MaxNameLength)
	case len(name) > MaxNameLength:
		return fmt.Errorf("name %q… has %d bytes: use at most %d", name[:16], len(name), MaxNameLength)
	}
	for i, c := range name {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '-' && i > 0 && i < len(name)-1:
		default:
			return fmt.Errorf("name %q: %q is not allowed at position %d: use lower-case letters, digits and inner dashes%s",
				name, string(c), i+1, suggestion(name))
		}
	}
	return nil
}

// suggestion returns a hint with an allowed name; "" if there is none.
func suggestion(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			b.WriteRune(c)
		} else {
			b.WriteByte('-')
		}
	}
	s := strings.Trim(b.String(), "-")
	if s == "" || s == name {
		return ""
	}
	return fmt.Sprintf(", for example %q", s)
}
