package arch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// rule lists the imports that a package may have. A name that ends in /... stands for all packages below it.
type rule struct {
	own      []string // packages of this module
	external []string // modules, or packages of them
}

const etcdClient = "go.etcd.io/etcd/client/v3"

// rules returns the rows of all packages.
func rules() map[string]rule {
	all := maps.Clone(libraryRules)
	maps.Copy(all, cmdRules)
	return all
}

var (
	executing = []string{"scheduler/job", "scheduler/executor", "scheduler/executor/procs", "scheduler/executor/refs", "scheduler/executor/dial", "scheduler/executor/fill", "scheduler/executor/output"}
	system    = []string{"golang.org/x/sys/unix"}
)

// reserved lists modules, each with the only packages that may import it, whatever their row says.
var reserved = map[string][]string{
	"github.com/spf13/viper":             {"config"},
	"github.com/spf13/cobra":             {"cmd/..."},
	"go.etcd.io/etcd/server/v3":          {"store/embedded", "test/..."},
	"github.com/nicholas-fedor/shoutrrr": {"scheduler/notify/send"},
	"go.etcd.io/etcd":                    {"election", "store/...", "cmd/...", "test/..."},
}

// within reports whether the list has the path. A name that ends in /... stands for all paths below it.
func within(path string, list []string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		stem, below := strings.CutSuffix(name, "/...")
		return path == stem || below && strings.HasPrefix(path, stem+"/")
	})
}

// external reports whether an import is of another module.
func external(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		r, ok := rules()[p.path()]
		if !ok {
			t.Errorf("package %s has no row in the table: list its imports", p.path())
			continue
		}
		for _, imported := range p.Imports {
			own, isOwn := strings.CutPrefix(imported, module+"/")
			switch {
			case isOwn && !within(own, r.own):
				t.Errorf("%s must not import %s: its row in the table does not list it", p.path(), own)
			case !isOwn && external(imported) && !within(imported, r.external):
				t.Errorf("%s must not import %s: its row in the table does not list it", p.path(), imported)
			}
		}
	}
}

func TestSomeModulesAreReserved(t *testing.T) {
	for _, p := range packages(t) {
		for name, users := range reserved {
			for _, imported := range p.Imports {
				if within(imported, []string{name + "/..."}) && !within(p.path(), users) {
					t.Errorf("%s imports %s, which is reserved for %s", p.path(), imported, strings.Join(users, ", "))
				}
			}
		}
	}
}

func TestEachRowIsOfAPackage(t *testing.T) {
	list := packages(t)
	for row := range rules() {
		if !slices.ContainsFunc(list, func(p pkg) bool { return p.path() == row }) {
			t.Errorf("package %s does not exist: remove its row", row)
		}
	}
}
