package planner_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// outOfScripts are reasons that no script can produce. TestOversizedRunBlocksNothing produces and explains the first. Version
// 0.1.0 writes the second. A worker writes the third.
var outOfScripts = []string{
	"its record is too large for the store",
	"its worker was lost; whether it may be tried again says the job's definition, which cannot be read",
	"tried again after 3s, since its attempt could not begin",
}

// TestEveryReasonIsGivenAndExplained looks for every reason in the source of the planner and of the policies. Some script must
// produce it, and `rota explain` must show it.
func TestEveryReasonIsGivenAndExplained(t *testing.T) {
	explained := append(explanations(t), outOfScripts...)
	for _, reason := range reasons(t) {
		if !slices.ContainsFunc(explained, reason.MatchString) {
			t.Errorf("no script produces the reason %q, or explain does not show it", reason)
		}
	}
}

// explanations returns the explanation of every decision of the scripts, and the reasons of backfills.
func explanations(t *testing.T) (texts []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		play(t, string(script), func(st *stage, d job.Decision) {
			facts := explain.Facts{Job: st.store.job(d.Job), Run: d.Run, Now: st.now}
			if facts.Job != nil {
				facts.When, _ = policy.When(d.Job, facts.Job.Spec)
			}
			var slot, reason = st.now, ""
			switch {
			case d.Event != nil && facts.Job != nil:
				slot, reason, facts.Events = d.Event.From, d.Event.Reason, []job.Event{*d.Event}
			case d.Run != nil:
				slot, reason = d.Run.Slot, d.Run.Reason
			}
			text := strings.Join(explain.Explain(facts, slot).Text, "\n")
			if !strings.Contains(text, reason) {
				t.Errorf("%s: the planner gives the reason %q for %s, explain shows:\n%s", file, reason, d.Job, text)
			}
			texts = append(texts, text)
			if d.Backfill != nil { // rota backfill shows it
				texts = append(texts, d.Backfill.Reason)
			}
		})
	}
	return texts
}

// reasons returns the texts for people in the source: every literal of more than one word. A verb of a format matches any text.
func reasons(t *testing.T) (list []*regexp.Regexp) {
	t.Helper()
	verb := regexp.MustCompile(`%[a-z]`)
	for _, pattern := range []string{"*.go", "../policy/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					if text = strings.Trim(text, " ;"); strings.Contains(text, " ") {
						parts := verb.Split(text, -1)
						for i := range parts {
							parts[i] = regexp.QuoteMeta(parts[i])
						}
						list = append(list, regexp.MustCompile(strings.Join(parts, ".+")))
					}
				}
				return true
			})
		}
	}
	if len(list) < 20 {
		t.Fatalf("found only %d reasons", len(list))
	}
	return list
}
