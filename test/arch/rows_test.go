package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared is a test as its source says it.
type declared struct {
	dir  string // below the root
	body *ast.BlockStmt
}

// TestEachRowIsRun reads the tables of test/README.md that say which test makes which failure happen: each test is there, and
// .ci/run has it run, by make test or by make fault FAULTS=rest.
func TestEachRowIsRun(t *testing.T) {
	tests := declaredTests(t)
	rowTests, rowPackages := makeVariable(t, "ROW_TESTS"), strings.Fields(makeVariable(t, "ROW_PACKAGES"))
	matches := regexp.MustCompile(rowTests)
	rows := 0
	for _, line := range tableRows(t, "## What is tested", "## Guards") {
		names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(line, -1)
		run := 0
		for _, name := range names {
			found, ok := tests[name[1]]
			if !ok {
				t.Errorf("test/README.md names %s, which is not there: %s", name[1], line)
				continue
			}
			for _, d := range found {
				switch why := d.leftOut(); {
				case why != "":
					t.Errorf("%s in %s is named in test/README.md, and may be left out: %s", name[1], d.dir, why)
				case d.begins("measures"):
					continue
				case strings.HasPrefix(d.dir, "test/cluster") && !d.begins("row") && !d.begins("slow"):
					t.Errorf("%s does not begin with row(t) or slow(t), which say who runs it", name[1])
				case !strings.HasPrefix(d.dir, "test/") || d.dir == "test/sim":
					below := slices.ContainsFunc(rowPackages, func(p string) bool {
						p = strings.TrimPrefix(p, "./")
						return d.dir == p || strings.HasSuffix(p, "/...") && strings.HasPrefix(d.dir+"/", strings.TrimSuffix(p, "..."))
					})
					if !below || !matches.MatchString(name[1]) {
						t.Errorf("make fault does not run %s in %s: see ROW_TESTS and ROW_PACKAGES in the Makefile", name[1], d.dir)
					}
				}
				run++
			}
		}
		if rows++; run == 0 && len(names) > 0 {
			t.Errorf("no test of this row is run: %s", line)
		}
	}
	if rows < 30 {
		t.Errorf("test/README.md has %d rows of scenarios, want one for each", rows)
	}
}

// leftOut says by what a test may be left out besides -short and the helpers of its package; empty if by nothing.
func (d declared) leftOut() (why string) {
	ast.Inspect(d.body, func(n ast.Node) bool {
		if cond, ok := n.(*ast.IfStmt); ok && called(cond.Cond) == "Short" {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, called(call)) {
			why = "it calls " + called(call)
		}
		return true
	})
	return why
}

// begins says whether a test begins with a call of a helper.
func (d declared) begins(helper string) bool {
	first, ok := d.body.List[0].(*ast.ExprStmt)
	return ok && called(first.X) == helper
}

// called is the name of the function that an expression calls, without its package; empty if it calls none.
func called(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// declaredTests finds all tests of the module, by name.
func declaredTests(t *testing.T) map[string][]declared {
	t.Helper()
	tests := make(map[string][]declared)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "bin" || e.Name() == "testdata" || len(e.Name()) > 2 && e.Name()[0] == '.'):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && len(fn.Body.List) > 0 {
				tests[fn.Name.Name] = append(tests[fn.Name.Name], declared{filepath.ToSlash(dir), fn.Body})
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// tableRows are the rows of the tables of test/README.md between two headings, without those that name the columns.
func tableRows(t *testing.T, from, to string) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "test/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), from+"\n")
	part, _, ends := strings.Cut(part, to+"\n")
	if !ok || !ends {
		t.Fatalf("test/README.md has no part from %q to %q", from, to)
	}
	for line := range strings.Lines(part) {
		if strings.HasPrefix(line, "|") && strings.Contains(line, "Test") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}

// makeVariable is the value of a variable of the Makefile.
func makeVariable(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + `\s*=\s*(.+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("the Makefile does not say what %s is", name)
	}
	return string(m[1])
}
