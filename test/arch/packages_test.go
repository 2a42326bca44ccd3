package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/rota-scheduler/rota"

// root is the top of the tree, seen from this package.
const root = "../.."

// pkg is a package as `go list` describes it.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func (p pkg) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// goList describes all packages of the module in JSON. It takes seconds on a busy machine, so it runs once for all tests.
var goList = sync.OnceValues(func() ([]byte, error) {
	cmd := exec.Command("go", "list", "-pgo=off", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports", "./...")
	cmd.Dir = root
	return cmd.Output()
})

// packages lists the packages of the module, except those that only have tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := goList()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			list = append(list, p)
		}
	}
	if len(list) < 20 {
		t.Fatalf("got %d packages, want at least 20: is this the module's root?", len(list))
	}
	return list
}

// TestEachPackageHasOnePurpose requires a doc.go whose first sentence states one purpose.
func TestEachPackageHasOnePurpose(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasPrefix(p.path(), "deploy/examples/") {
			continue // an example: one file for users to copy
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Errorf("%s: no doc.go: %v", p.path(), err)
			continue
		}
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command " + filepath.Base(p.path()) + " "
		}
		text := strings.Join(strings.Fields(file.Doc.Text()), " ")
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: the comment of doc.go begins with %.40q, want %q", p.path(), text, want)
		}
		sentence, _, _ := strings.Cut(text, ". ")
		if strings.Contains(sentence, " and ") {
			t.Errorf("%s: the purpose of a package needs no \"and\": %s", p.path(), sentence)
		}
	}
}

// TestOnlyProgramsEndTheProcess rejects os.Exit and log.Fatal outside of package main, and init functions anywhere.
func TestOnlyProgramsEndTheProcess(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v", p.path(), err)
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv == nil && n.Name.Name == "init" {
						t.Errorf("%s: func init: an import must have no effect", files.Position(n.Pos()))
					}
				case *ast.SelectorExpr:
					of, ok := n.X.(*ast.Ident)
					if ok && p.Name != "main" && (of.Name == "os" && n.Sel.Name == "Exit" || of.Name == "log" && strings.HasPrefix(n.Sel.Name, "Fatal")) {
						t.Errorf("%s: %s.%s: return an error", files.Position(n.Pos()), of.Name, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
