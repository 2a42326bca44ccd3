package runbooks

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/test/docpage"
)

// step is a block of a page that a test runs.
type step struct {
	section  string // the heading above it
	line     int
	hosts    []string
	settings bool // settings of a replica, not commands
	look     bool // any exit code is right
	text     string
}

var fence = regexp.MustCompile("^( *)```(\\w*) ?(.*)$")

// parsePage returns the blocks of a page that name hosts.
func parsePage(page string) (steps []step, err error) {
	var section, indent string
	var open *step
	inside := false
	for i, line := range strings.Split(page, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m == nil && inside && open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case m == nil && !inside && strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(line, "# ")
		case m == nil:
		case inside:
			if open != nil {
				steps = append(steps, *open)
			}
			inside, open = false, nil
		default:
			inside, indent = true, m[1]
			if open, err = newStep(m[2], strings.Fields(m[3])); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if open != nil {
				open.section, open.line = section, i+1
			}
		}
	}
	return steps, nil
}

// newStep returns the step that the words of a fence describe, nil if no test runs the block.
func newStep(language string, words []string) (*step, error) {
	s := &step{}
	if language == "yaml" && len(words) > 0 && words[0] == "settings" {
		s.settings, words = true, words[1:]
	} else if language != "sh" {
		return nil, nil
	}
	for _, word := range words {
		switch {
		case word == "look":
			s.look = true
		case slices.Contains(names, word):
			s.hosts = append(s.hosts, word)
		default:
			return nil, fmt.Errorf("%q is neither a host nor look", word)
		}
	}
	if len(s.hosts) == 0 {
		return nil, nil
	}
	return s, nil
}

// runbook is a page whose blocks a test runs.
type runbook struct {
	m     *machines
	name  string
	steps []step
	ran   map[int]bool // the lines of the blocks that the test ran
	took  time.Duration
}

// open reads a page. At the end of the test, each block of the page that names hosts must have run, and the page must say how long
// they took.
func (m *machines) open(name string) *runbook {
	m.t.Helper()
	page, err := os.ReadFile(path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	r := &runbook{m: m, name: name, ran: map[int]bool{}}
	if r.steps, err = parsePage(string(page)); err != nil || len(r.steps) == 0 {
		m.t.Fatalf("%s has %d blocks that name hosts: %v", name, len(r.steps), err)
	}
	return r
}

func path(name string) string { return "../../docs/how-to/" + name }

// run runs the blocks below a heading in their order. It returns what the commands wrote.
func (r *runbook) run(section string) (out string) {
	r.m.t.Helper()
	begun := time.Now()
	found := false
	for _, s := range r.steps {
		if s.section != section {
			continue
		}
		found, r.ran[s.line] = true, true
		for _, host := range s.hosts {
			if s.settings {
				r.m.settings(host, s.text)
				continue
			}
			text := s.text
			if s.look {
				text = "set +e\n" + text
			}
			wrote, code := r.m.sh(host, text)
			r.m.t.Logf("%s:%d on %s: exit code %d\n%s\n%s", r.name, s.line, host, code, s.text, wrote)
			if code != 0 && !s.look {
				r.m.t.Fatalf("%s:%d on %s: exit code %d", r.name, s.line, host, code)
			}
			out += wrote
		}
	}
	if !found {
		r.m.t.Fatalf("%s has no blocks for a test below %q", r.name, section)
	}
	r.took += time.Since(begun)
	return out
}

// close checks that the test has run the whole page.
func (r *runbook) close() {
	t := r.m.t
	t.Helper()
	for _, s := range r.steps {
		if !r.ran[s.line] {
			t.Errorf("%s: the test has not run the block of line %d below %q", r.name, s.line, s.section)
		}
	}
	text := fmt.Sprintf("The commands of this page took %d s in a test.", max(1, int(r.took.Round(time.Second).Seconds())))
	t.Logf("%s: %s", r.name, text)
	if *update && !t.Failed() {
		docpage.Check(t, path(r.name), "duration", text, true)
	}
}

// settings merges a block into the settings of a replica.
func (m *machines) settings(host, text string) {
	m.t.Helper()
	const file = "etc/rota/rota.yaml"
	all := map[string]any{}
	before, _ := os.ReadFile(m.file(host, file)) // no file: the block is the first one
	for _, part := range []string{string(before), text} {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(part), &values); err != nil {
			m.t.Fatalf("settings of %s: %v\n%s", host, err, part)
		}
		merge(all, values)
	}
	merged, err := yaml.Marshal(all)
	if err != nil {
		m.t.Fatal(err)
	}
	// In one step, as editors do: a replica may read it at any time.
	m.write(host, file+".new", string(merged))
	if err := os.Rename(m.file(host, file+".new"), m.file(host, file)); err != nil {
		m.t.Fatal(err)
	}
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		outer, wasMap := into[key].(map[string]any)
		if isMap && wasMap {
			merge(outer, inner)
			continue
		}
		if isMap {
			inner = maps.Clone(inner)
			value = inner
		}
		into[key] = value
	}
}

// TestPagesNameHosts reads all runbooks without running them.
func TestPagesNameHosts(t *testing.T) {
	duration := regexp.MustCompile(`(?s)<!-- generated: duration -->\nThe commands of this page took \d+ s in a test.\n<!-- end -->`)
	files, err := os.ReadDir(path(""))
	if err != nil {
		t.Fatal(err)
	}
	runbooks := 0
	for _, f := range files {
		page, err := os.ReadFile(path(f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := parsePage(string(page))
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
		if len(steps) == 0 {
			continue
		}
		runbooks++
		if !duration.Match(page) {
			t.Errorf("%s does not say how long its commands take: ROTA_FAULTS=1 go test ./test/runbooks -update", f.Name())
		}
	}
	if runbooks == 0 {
		t.Error("no page names hosts")
	}
}
