package job

import (
	"fmt"
	"slices"
	"strings"
)

// Selector selects jobs by their labels. The zero value selects all jobs.
type Selector struct {
	text         string
	requirements []requirement // a job must meet all of them
}

// requirement is one condition on the labels of a job.
type requirement struct {
	key    string
	values []string // nil: any value
	not    bool     // the job must lack the key, or have none of the values
}

// ParseSelector parses a selector in the notation of kubectl: requirements that are separated by commas. A requirement is key,
// !key, key=value, key==value, key!=value, key in (a, b) or key notin (a, b). As with kubectl, != and notin also select jobs
// without the key. An empty text selects all jobs.
func ParseSelector(text string) (Selector, error) {
	s := Selector{text: strings.TrimSpace(text)}
	for rest := s.text; rest != ""; {
		part := rest[:endOfRequirement(rest)]
		r, err := parseRequirement(strings.TrimSpace(part))
		if err != nil {
			return Selector{}, fmt.Errorf("selector %.80q: %w", text, err)
		}
		s.requirements = append(s.requirements, r)
		var more bool
		if rest, more = strings.CutPrefix(rest[len(part):], ","); more && strings.TrimSpace(rest) == "" {
			return Selector{}, fmt.Errorf("selector %.80q: it ends with a comma", text)
		}
	}
	return s, nil
}

// endOfRequirement returns where the first requirement of s ends: at a comma outside of parentheses, or at the end.
func endOfRequirement(s string) int {
	open := false
	for i := range len(s) {
		switch s[i] {
		case '(':
			open = true
		case ')':
			open = false
		case ',':
			if !open {
				return i
			}
		}
	}
	return len(s)
}

func parseRequirement(s string) (requirement, error) {
	if key, ok := strings.CutPrefix(s, "!"); ok {
		return requirement{key: strings.TrimSpace(key), not: true}.checked()
	}
	if i := strings.IndexAny(s, "=!"); i >= 0 {
		key := s[:i]
		for _, op := range []string{"!=", "==", "="} {
			if strings.HasPrefix(s[i:], op) {
				value := strings.TrimSpace(s[i+len(op):])
				return requirement{strings.TrimSpace(key), []string{value}, op == "!="}.checked()
			}
		}
	}
	list, ok := strings.CutSuffix(s, ")")
	head, list, parens := strings.Cut(list, "(")
	fields := strings.Fields(head)
	if !ok || !parens {
		if len(fields) != 1 || strings.ContainsAny(s, "()") {
			return requirement{}, fmt.Errorf("%.70q is no requirement: write team=a, team!=a, team in (a, b), team or !team", s)
		}
		return requirement{key: s}.checked()
	}
	if len(fields) != 2 || fields[1] != "in" && fields[1] != "notin" {
		return requirement{}, fmt.Errorf("%.70q is no requirement: write it as team in (a, b) or team notin (a, b)", s)
	}
	r := requirement{key: fields[0], values: []string{}, not: fields[1] == "notin"}
	for value := range strings.SplitSeq(list, ",") {
		r.values = append(r.values, strings.TrimSpace(value))
	}
	return r.checked()
}

func (r requirement) checked() (requirement, error) {
	if len(r.values) == 0 {
		return r, CheckLabel(r.key, "")
	}
	for _, value := range r.values {
		if err := CheckLabel(r.key, value); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Empty reports whether the selector selects all jobs.
func (s Selector) Empty() bool { return len(s.requirements) == 0 }

// String returns the text of the selector.
func (s Selector) String() string { return s.text }

// Matches reports whether the selector selects a job with these labels.
func (s Selector) Matches(labels map[string]string) bool {
	return !slices.ContainsFunc(s.requirements, func(r requirement) bool {
		value, has := labels[r.key]
		met := has && (r.values == nil || slices.Contains(r.values, value))
		return met == r.not
	})
}
