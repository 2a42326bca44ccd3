package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link finds the targets of links, without those to other hosts.
var link = regexp.MustCompile(`\]\(([^):]+)\)`)

// TestLinksHaveTargets follows every link within the tree, to its file and to its heading.
func TestLinksHaveTargets(t *testing.T) {
	known := make(map[string]map[string]bool) // the anchors of pages
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(withoutCode(read(t, page)), -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s has no target", page, m[1])
				continue
			}
			if anchor != "" && known[target] == nil {
				known[target] = anchors(t, target)
			}
			if anchor != "" && !known[target][anchor] {
				t.Errorf("%s: %s has no heading for #%s", page, target, anchor)
			}
		}
	}
}

// TestNoPageHasAConflict finds the markers of a conflict that a merge has left in a page.
func TestNoPageHasAConflict(t *testing.T) {
	for _, page := range pages(t) {
		if strings.Contains(read(t, page), "\n<<<<<<< ") {
			t.Errorf("%s has an unresolved conflict", page)
		}
	}
}

// TestEveryPageIsInTheIndex checks that docs/README.md links to every page that exists.
func TestEveryPageIsInTheIndex(t *testing.T) {
	index := read(t, "README.md")
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "../") && page != "README.md" && !strings.Contains(index, "("+page) {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked  = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// withoutCode removes blocks of code, in which brackets and # mean something else.
func withoutCode(text string) string { return fence.ReplaceAllString(text, "") }

// anchors returns the anchors of a page's headings, made as GitHub makes them.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(withoutCode(read(t, page)), -1) {
		title := strings.ToLower(dropped.ReplaceAllString(linked.ReplaceAllString(m[1], "$1"), ""))
		found[strings.ReplaceAll(title, " ", "-")] = true
	}
	return found
}
