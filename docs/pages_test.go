// Package docs_test compares the documentation with the code.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages returns the paths of all pages, including the README and the other pages at the top.
func pages(t *testing.T) []string {
	t.Helper()
	files := []string{"../README.md", "../SECURITY.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../test/README.md"}
	tables, err := filepath.Glob("../test/tables/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, tables...)
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quoted finds what stands between backquotes.
var quoted = regexp.MustCompile("`([^`]+)`")

// firstCells returns the quoted names in the first cells of the tables below a heading, up to the next heading of level two.
func firstCells(t *testing.T, file, heading string) []string {
	t.Helper()
	_, text, ok := strings.Cut("\n"+read(t, file), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no heading %q", file, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// headings returns the quoted names in the headings of one level, which begin with prefix.
func headings(t *testing.T, file, prefix string) (names []string) {
	t.Helper()
	for line := range strings.Lines(read(t, file)) {
		if text, ok := strings.CutPrefix(line, prefix); ok {
			for _, m := range quoted.FindAllStringSubmatch(text, -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// same reports the names that are in one list only.
func same(t *testing.T, where string, got, want []string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: the code has no names to compare with", where)
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s does not describe %s", where, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s describes %s, which the code does not have", where, g)
		}
	}
}

// jsonNames returns the names that a type's fields have in JSON.
func jsonNames(of reflect.Type) (names []string) {
	for field := range of.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag != "" && tag != "-" {
			names = append(names, tag)
		}
	}
	return names
}

// sources calls visit with the text of every production file below the given folders.
func sources(t *testing.T, visit func(path, text string), tops ...string) {
	t.Helper()
	for _, top := range tops {
		err := filepath.WalkDir("../"+top, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				visit(path, read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// matches returns the first group of every match of the pattern in the production files below the given folders.
func matches(t *testing.T, pattern string, tops ...string) (found []string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	sources(t, func(_, text string) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(found, m[1]) {
				found = append(found, m[1])
			}
		}
	}, tops...)
	return found
}
