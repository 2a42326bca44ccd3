package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rota-scheduler/rota"

// root is the top of the tree, seen from here.
const root = "../.."

// anything lets a package import what it likes.
const anything = "*"

// rule says what a package may import besides the standard library. A name ending in /... stands for all below it.
type rule struct {
	own      []string // packages of this module
	external []string // modules, or packages of them
}

// rules is the table of directions, one row per package. It is read as: the package imports nothing but these.
var rules = map[string]rule{
	// Vocabulary and arithmetic: pure.
	"scheduler/job":      {},
	"scheduler/schedule": {external: []string{"github.com/netresearch/go-cron"}},
	"scheduler/policy":   {own: []string{"scheduler/job", "scheduler/schedule"}},
	"scheduler/planner":  {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy"}},
	"scheduler/explain":  {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy"}},
	"scheduler/verify":   {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy"}},
	"scheduler/notify":   {own: []string{"scheduler/job", "scheduler/policy"}},

	// Mechanisms: each declares the interfaces that it uses, and knows neither etcd nor settings.
	"scheduler": {
		own:      []string{"scheduler/job", "scheduler/planner", "election"}, // of election the Term and its errors
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"scheduler/worker": {
		own: []string{"scheduler/job", "scheduler/policy", "scheduler/executor", "scheduler/executor/output", "scheduler/executor/procs"},
		// bbolt is a file on this machine: the journal. It is etcd's by name alone.
		external: []string{"github.com/hashicorp/go-hclog", "github.com/cenkalti/backoff/v5", "go.etcd.io/bbolt"},
	},
	"scheduler/target":           {}, // services import it: it has no dependencies
	"scheduler/executor":         {own: []string{"scheduler/job"}},
	"scheduler/executor/cgroups": {external: system},
	"scheduler/executor/command": {own: append([]string{"scheduler/executor/cgroups"}, executing...), external: system},
	"scheduler/executor/handler": {own: executing},
	"scheduler/executor/http":    {own: executing},
	"scheduler/executor/output":  {external: system},
	"scheduler/executor/procs":   {external: system},
	"scheduler/executor/refs":    {},
	"scheduler/executor/dial":    {},
	"scheduler/executor/fill":    {own: []string{"scheduler/job", "scheduler/executor/refs"}},
	"scheduler/notify/send": {
		own:      []string{"scheduler/job", "scheduler/notify", "scheduler/executor", "scheduler/executor/refs", "scheduler/executor/dial"}, // of executor the Redactor only
		external: []string{"github.com/hashicorp/go-hclog", "github.com/nicholas-fedor/shoutrrr/pkg/..."},
	},
	"scheduler/api": {
		own:      []string{"scheduler/job"},
		external: []string{"github.com/danielgtaylor/huma/v2/...", "github.com/hashicorp/go-hclog"},
	},
	"scheduler/api/auth":   {},
	"scheduler/api/client": {own: []string{"scheduler/job", "scheduler/api"}},

	// What knows etcd.
	"election": {
		external: []string{etcdClient, "go.etcd.io/etcd/client/v3/concurrency", "go.etcd.io/etcd/api/v3/...",
			"google.golang.org/grpc", // its streams, on which leases are renewed
			"github.com/cenkalti/backoff/v5", "github.com/hashicorp/go-hclog", "golang.org/x/sys/unix"},
	},
	"store": {
		own:      []string{"scheduler/job", "election"}, // of election the Term, its errors, and leases for presences
		external: []string{etcdClient, "go.etcd.io/etcd/api/v3/...", "google.golang.org/grpc/...", "github.com/hashicorp/go-hclog"},
	},
	"store/embedded": {
		// bbolt reads who the members are, in etcd's own file.
		external: []string{"go.etcd.io/bbolt", etcdClient, "go.etcd.io/etcd/client/pkg/v3/transport", "go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/server/v3/...",
			"go.uber.org/zap/...", "google.golang.org/grpc/...", "github.com/hashicorp/go-hclog", "golang.org/x/sys/unix"},
	},
	"store/mem": {
		external: []string{etcdClient, "go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/pkg/v3/adt",
			"google.golang.org/grpc/...", "google.golang.org/protobuf/proto"},
	},
	"store/storetest": {
		own:      []string{"store", "store/mem", "store/embedded"},
		external: []string{etcdClient, "go.etcd.io/etcd/client/v3/concurrency", "go.etcd.io/etcd/api/v3/..."},
	},

	// What operators write.
	"config": {
		own:      []string{"scheduler/job", "scheduler/policy", "scheduler/schedule", "scheduler/notify", "scheduler/executor/fill", "scheduler/api/auth"}, // of notify the Schemes only, of fill the Check
		external: []string{"github.com/spf13/viper", "github.com/spf13/pflag", "go.yaml.in/yaml/v4/..."},
	},

	// What puts it all together, and what proves it.
	"cmd/...":                  {own: []string{anything}, external: []string{anything}},
	"test/...":                 {own: []string{anything}, external: []string{anything}},
	"deploy/examples/handlers": {own: []string{anything}, external: []string{"github.com/hashicorp/go-hclog"}}, // a user's program
}

const etcdClient = "go.etcd.io/etcd/client/v3"

var (
	executing = []string{"scheduler/job", "scheduler/executor", "scheduler/executor/procs", "scheduler/executor/refs", "scheduler/executor/dial", "scheduler/executor/fill", "scheduler/executor/output"}
	system    = []string{"golang.org/x/sys/unix"}
)

// reserved are modules that only these packages use, whatever their row says.
var reserved = map[string][]string{
	"github.com/spf13/viper":             {"config"},
	"github.com/spf13/cobra":             {"cmd/..."},
	"go.etcd.io/etcd/server/v3":          {"store/embedded", "test/..."},
	"github.com/nicholas-fedor/shoutrrr": {"scheduler/notify/send"},
	"go.etcd.io/etcd":                    {"election", "store/...", "cmd/...", "test/..."},
}

// folders is all that may be at the top, besides what is generated.
var folders = []string{".ci", ".git", "cmd", "config", "deploy", "docs", "election", "scheduler", "store", "test", "bin", ".rota"}

// topFiles is all that git may keep beside them.
var topFiles = []string{".dockerignore", ".editorconfig", ".gitignore", ".golangci.yml", ".vale.ini", "CHANGELOG.md", "CONTRIBUTING.md",
	"LICENSE", "Makefile", "README.md", "SECURITY.md", "go.mod", "go.sum"}

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func (p pkg) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// packages lists all packages of the module that have more than tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
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

// within says whether a path is a name of the list, or lies below one that ends in /...
func within(path string, list []string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		stem, below := strings.CutSuffix(name, "/...")
		return name == anything || path == stem || below && strings.HasPrefix(path, stem+"/")
	})
}

// ruleOf returns the row of a package: its own, or the nearest one above that ends in /...
func ruleOf(path string) (rule, bool) {
	if r, ok := rules[path]; ok {
		return r, true
	}
	for at := path; at != "."; at = filepath.Dir(at) {
		if r, ok := rules[at+"/..."]; ok {
			return r, true
		}
	}
	return rule{}, false
}

func external(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		r, ok := ruleOf(p.path())
		if !ok {
			t.Errorf("package %s has no row in the table: say what it may import", p.path())
			continue
		}
		for _, imported := range p.Imports {
			own, isOwn := strings.CutPrefix(imported, module+"/")
			switch {
			case isOwn && !within(own, r.own):
				t.Errorf("%s imports %s, which is not its business", p.path(), own)
			case !isOwn && external(imported) && !within(imported, r.external):
				t.Errorf("%s imports %s, which is not its business", p.path(), imported)
			}
		}
	}
}

func TestSomeModulesAreReserved(t *testing.T) {
	for _, p := range packages(t) {
		for name, users := range reserved {
			for _, imported := range p.Imports {
				if within(imported, []string{name + "/..."}) && !within(p.path(), users) {
					t.Errorf("%s imports %s, which only %s may", p.path(), imported, strings.Join(users, ", "))
				}
			}
		}
	}
}

func TestTableHasNoRowsForPackagesThatAreGone(t *testing.T) {
	list := packages(t)
	for row := range rules {
		if !slices.ContainsFunc(list, func(p pkg) bool { return within(p.path(), []string{row}) }) {
			t.Errorf("there is no package %s any more", row)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasPrefix(p.path(), "deploy/examples/") {
			continue // one file, to be copied
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
		if text := file.Doc.Text(); !strings.HasPrefix(text, want) {
			t.Errorf("%s: the comment of doc.go begins with %.40q, want %q", p.path(), text, want)
		}
	}
}

// TestOnlyProgramsEndTheProcess looks for os.Exit and log.Fatal outside of package main, and for init functions anywhere.
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
						t.Errorf("%s: func init: nothing happens on import", files.Position(n.Pos()))
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

func TestTopLevelIsFixed(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(folders, e.Name()) {
			t.Errorf("folder %s at the top: put it into one of %s", e.Name(), strings.Join(folders, " "))
		}
	}
	tracked, err := exec.Command("git", "-C", root, "ls-files", ":(glob)*").Output()
	if err != nil {
		t.Skipf("no checkout of git's, so what it keeps is not known: %v", err)
	}
	for name := range strings.FieldsSeq(string(tracked)) {
		if !slices.Contains(topFiles, name) {
			t.Errorf("file %s at the top: git is to keep only %s there", name, strings.Join(topFiles, " "))
		}
	}
}
