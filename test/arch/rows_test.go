package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared is the source of a test.
type declared struct {
	dir     string // path of its folder below the root
	body    *ast.BlockStmt
	helpers map[string]*ast.BlockStmt // the functions of its package's tests, by name
}

// TestEachRowIsRun reads the tables of test/tables/scenarios.md, which say which test makes which fault. Each test must exist, and
// .ci/run must run it, by make test or by make fault FAULTS=rest.
func TestEachRowIsRun(t *testing.T) {
	tests := declaredTests(t)
	rowTests, rowPackages := makeVariable(t, "ROW_TESTS"), strings.Fields(makeVariable(t, "ROW_PACKAGES"))
	matches := regexp.MustCompile(rowTests)
	rows := 0
	for _, line := range tableRows(t) {
		names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(line, -1)
		run := 0
		for _, name := range names {
			found, ok := tests[name[1]]
			if !ok {
				t.Errorf("scenarios.md names %s, which does not exist: %s", name[1], line)
				continue
			}
			for _, d := range found {
				switch why := d.skips(); {
				case why != "":
					t.Errorf("%s in %s is in scenarios.md, but can be skipped: %s", name[1], d.dir, why)
				case d.begins("measures"):
					continue
				case strings.HasPrefix(d.dir, "test/cluster") && !d.begins("row") && !d.begins("slow"):
					t.Errorf("%s does not begin with row(t) or slow(t), which select the target that runs it", name[1])
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
			t.Errorf("make runs no test of this row: %s", line)
		}
	}
	if rows < 30 {
		t.Errorf("scenarios.md has %d rows, want one for each", rows)
	}
}

// maySkip are the helpers that may skip a test of a row: a target of make sets what they ask for, or ROTA_CI makes them fail.
// lacking.Report and lacking.Program fail in CI, too.
var maySkip = []string{"row", "slow", "measures", "seeded", "helmBinary", "startNode"}

// skips returns why a test can be skipped, apart from -short and maySkip. It returns "" if nothing else skips it. It follows calls of
// functions of the package.
func (d declared) skips() (why string) {
	seen := make(map[string]bool)
	for _, helper := range maySkip {
		seen[helper] = true
	}
	var visit func(body *ast.BlockStmt, path string)
	visit = func(body *ast.BlockStmt, path string) {
		ast.Inspect(body, func(n ast.Node) bool {
			if cond, ok := n.(*ast.IfStmt); ok && called(cond.Cond) == "Short" {
				return false
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := called(call)
			if slices.Contains([]string{"Skip", "Skipf", "SkipNow", "ReportForRoot"}, name) {
				why = "it calls " + path + name
			}
			if _, own := call.Fun.(*ast.Ident); own && d.helpers[name] != nil && !seen[name] {
				seen[name] = true
				visit(d.helpers[name], path+name+", which calls ")
			}
			return true
		})
	}
	visit(d.body, "")
	return why
}

// begins reports whether a test begins with a call of a helper.
func (d declared) begins(helper string) bool {
	first, ok := d.body.List[0].(*ast.ExprStmt)
	return ok && called(first.X) == helper
}

// called returns the name of the function that an expression calls, without its package. It returns "" if the expression is not
// a call.
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

// declaredTests returns all tests of the module by name.
func declaredTests(t *testing.T) map[string][]declared {
	t.Helper()
	tests, helpers := make(map[string][]declared), make(map[string]map[string]*ast.BlockStmt)
	for path, text := range goFiles(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if helpers[dir] == nil {
			helpers[dir] = make(map[string]*ast.BlockStmt)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Body == nil || len(fn.Body.List) == 0 {
				continue
			}
			name := fn.Name.Name
			if strings.HasPrefix(name, "Test") {
				tests[name] = append(tests[name], declared{dir, fn.Body, helpers[dir]})
			} else {
				helpers[dir][name] = fn.Body
			}
		}
	}
	return tests
}

// tableRows returns the rows of test/tables/scenarios.md that name a test.
func tableRows(t *testing.T) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "test/tables/scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "|") && strings.Contains(line, "Test") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}

// makeVariable returns the value of a variable of the Makefile.
func makeVariable(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + `\s*=\s*(.+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("the Makefile has no variable %s", name)
	}
	return string(m[1])
}
