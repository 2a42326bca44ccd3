package arch

import (
	"slices"
	"strings"
	"testing"
)

// rule lists the imports that a package may have. A name that ends in /... stands for all packages below it.
type rule struct {
	own      []string // packages of this module
	external []string // modules, or packages of them
}

// rules has one row for each package. A package imports only the packages of its row and the standard library.
var rules = map[string]rule{
	// The packages of the domain. They do no I/O.
	"scheduler/job":       {},
	"scheduler/suggest":   {},
	"scheduler/schedule":  {external: []string{"github.com/netresearch/go-cron"}},
	"scheduler/policy":    {own: []string{"scheduler/job", "scheduler/schedule"}},
	"scheduler/workflow":  {own: []string{"scheduler/job"}},
	"scheduler/planner":   {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy", "scheduler/workflow"}},
	"scheduler/explain":   {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy"}},
	"scheduler/verify":    {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy"}},
	"scheduler/notify":    {own: []string{"scheduler/job", "scheduler/policy"}},
	"scheduler/attention": {own: []string{"scheduler/job"}},
	"scheduler/timeline":  {own: []string{"scheduler/job"}},
	"scheduler/doctor":    {own: []string{"scheduler/job"}},

	// Mechanisms: each declares the interfaces that it uses, and knows neither etcd nor settings.
	"scheduler": {
		own:      []string{"scheduler/job", "scheduler/planner", "election"}, // of election, only Term and its errors
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"scheduler/worker": {
		own: []string{"scheduler/job", "scheduler/policy", "scheduler/executor", "scheduler/executor/output", "scheduler/executor/procs"},
		// bbolt is the file of the journal on this machine. It does not contact etcd, although the module's name says so.
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
		own:      []string{"scheduler/job", "scheduler/notify", "scheduler/executor", "scheduler/executor/refs", "scheduler/executor/dial"}, // of executor, only Redactor
		external: []string{"github.com/hashicorp/go-hclog", "github.com/nicholas-fedor/shoutrrr/pkg/..."},
	},
	"scheduler/api": {
		own:      []string{"scheduler/api/auth", "scheduler/attention", "scheduler/job", "scheduler/suggest", "scheduler/timeline"},
		external: []string{"github.com/danielgtaylor/huma/v2/...", "github.com/hashicorp/go-hclog", "golang.org/x/time/rate"},
	},
	"scheduler/api/auth":   {},
	"scheduler/api/web":    {own: []string{"scheduler/api", "scheduler/attention", "scheduler/job", "scheduler/timeline"}, external: []string{"go.yaml.in/yaml/v4"}},
	"scheduler/api/client": {own: []string{"scheduler/job", "scheduler/api", "scheduler/timeline"}},

	// Only these packages know etcd.
	"election": {
		external: []string{etcdClient, "go.etcd.io/etcd/client/v3/concurrency", "go.etcd.io/etcd/api/v3/...",
			"google.golang.org/grpc", // for the streams on which leases are renewed
			"github.com/cenkalti/backoff/v5", "github.com/hashicorp/go-hclog", "golang.org/x/sys/unix"},
	},
	"store": {
		// Of election: Term, its errors, and leases for presences. Of auth: the records of sessions.
		own: []string{"scheduler/job", "scheduler/api/auth", "election"},
		external: []string{etcdClient, "go.etcd.io/etcd/api/v3/...", "google.golang.org/grpc/...", "github.com/hashicorp/go-hclog",
			"github.com/oklog/ulid/v2"}, // for the ids of audit records
	},
	"store/embedded": {
		// bbolt reads the list of members in etcd's own file.
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

	// The files that operators write.
	"config": {
		own:      []string{"scheduler/job", "scheduler/policy", "scheduler/schedule", "scheduler/workflow", "scheduler/suggest", "scheduler/notify", "scheduler/executor/fill", "scheduler/api/auth"}, // of notify only Schemes, of fill only Check
		external: []string{"github.com/spf13/viper", "github.com/spf13/pflag", "go.yaml.in/yaml/v4/..."},
	},

	// The parts of a process. Each declares the interfaces that it uses; only cmd/rota/node knows all of them.
	"cmd/rota/internal/activity":   {own: []string{"scheduler/job"}},
	"cmd/rota/internal/atomicfile": {},
	"cmd/rota/internal/failure":    {},
	"cmd/rota/internal/authn": {
		own:      []string{"cmd/rota/internal/loop", "config", "scheduler/api", "scheduler/api/auth", "scheduler/job", "store"}, // of job, only ErrNotFound
		external: []string{"github.com/hashicorp/go-hclog", "golang.org/x/time/rate"},
	},
	"cmd/rota/internal/listeners": {},
	"cmd/rota/internal/loop":      {},
	"cmd/rota/internal/kubeapi":   {},
	"cmd/rota/internal/supervisor": {
		own:      []string{"cmd/rota/internal/loop"},
		external: []string{"github.com/coreos/go-systemd/v22/daemon", "github.com/hashicorp/go-hclog", "golang.org/x/sys/unix"},
	},
	"cmd/rota/internal/peer": {own: []string{"config", "scheduler/api", "scheduler/api/auth", "scheduler/api/client"}},
	"cmd/rota/internal/etcdconn": {
		own: []string{"cmd/rota/internal/failure", "cmd/rota/internal/loop", "config", "election", "store/embedded"},
		external: []string{etcdClient, "go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/client/pkg/v3/transport", "google.golang.org/grpc/...",
			"go.uber.org/zap", "github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/admission": {
		own: []string{"cmd/rota/internal/atomicfile", "cmd/rota/internal/failure", "cmd/rota/internal/loop", "store",
			"scheduler/executor/output"}, // of output, only the wait for a disk
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/checkup": {
		own:      []string{"cmd/rota/internal/etcdconn", "config", "scheduler/doctor", "scheduler/job", "store"},
		external: []string{etcdClient},
	},
	"cmd/rota/internal/clocks": {
		own:      []string{"cmd/rota/internal/loop", "cmd/rota/internal/peer", "config", "election", "scheduler/api", "scheduler/job"},
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/presence": {
		own:      []string{"cmd/rota/internal/failure", "cmd/rota/internal/loop", "scheduler/job", "scheduler/worker", "store"},
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/rollcall": {
		own:      []string{"cmd/rota/internal/loop", "election", "scheduler/job", "scheduler/timeline", "store"},
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/metrics": {
		own:      []string{"scheduler", "scheduler/api", "scheduler/api/auth", "scheduler/job", "scheduler/notify/send", "scheduler/worker", "store"},
		external: []string{"github.com/prometheus/client_golang/..."},
	},
	"cmd/rota/internal/notices": {
		own: []string{"cmd/rota/internal/failure", "cmd/rota/internal/loop", "election", "scheduler/job", "scheduler/notify",
			"scheduler/notify/send", "store"},
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/jobfiles": {
		own:      []string{"cmd/rota/internal/atomicfile", "cmd/rota/internal/loop", "config", "scheduler/job", "store"}, // of store, only Edit
		external: []string{"github.com/fsnotify/fsnotify", "github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/backend": {
		own: []string{"cmd/rota/internal/activity", "cmd/rota/internal/failure", "cmd/rota/internal/loop", "cmd/rota/internal/peer", "config",
			"election", "scheduler", "scheduler/api", "scheduler/api/auth", "scheduler/api/client", "scheduler/attention", "scheduler/explain", "scheduler/job",
			"scheduler/policy", "scheduler/schedule", "scheduler/timeline", "scheduler/workflow", "store"},
		external: []string{etcdClient, "github.com/oklog/ulid/v2", "go.yaml.in/yaml/v4"},
	},
	"cmd/rota/node": {
		own: []string{
			"cmd/rota/internal/activity",
			"cmd/rota/internal/admission",
			"cmd/rota/internal/authn",
			"cmd/rota/internal/backend",
			"cmd/rota/internal/clocks",
			"cmd/rota/internal/etcdconn",
			"cmd/rota/internal/failure",
			"cmd/rota/internal/jobfiles",
			"cmd/rota/internal/listeners",
			"cmd/rota/internal/loop",
			"cmd/rota/internal/metrics",
			"cmd/rota/internal/notices",
			"cmd/rota/internal/peer",
			"cmd/rota/internal/presence",
			"cmd/rota/internal/rollcall",
			"config",
			"election",
			"scheduler",
			"scheduler/api",
			"scheduler/api/auth",
			"scheduler/api/web",
			"scheduler/executor/...",
			"scheduler/job",
			"scheduler/notify/send",
			"scheduler/planner",
			"scheduler/timeline",
			"scheduler/worker",
			"store",
			"store/embedded",
		},
		external: []string{etcdClient, "github.com/hashicorp/go-hclog"},
	},

	// The program. It connects all packages.
	"cmd/rota": {
		own: []string{
			"cmd/rota/internal/atomicfile",
			"cmd/rota/internal/checkup",
			"cmd/rota/internal/credentials",
			"cmd/rota/internal/etcdconn",
			"cmd/rota/internal/extract",
			"cmd/rota/internal/failure",
			"cmd/rota/internal/importer",
			"cmd/rota/internal/kubeapi",
			"cmd/rota/internal/pki",
			"cmd/rota/internal/supervisor",
			"cmd/rota/node",
			"config",
			"scheduler/api",
			"scheduler/api/auth",
			"scheduler/api/client",
			"scheduler/attention",
			"scheduler/doctor",
			"scheduler/executor/cgroups",
			"scheduler/executor/procs",
			"scheduler/executor/refs",
			"scheduler/job",
			"scheduler/policy",
			"scheduler/schedule",
			"scheduler/suggest",
			"scheduler/timeline",
			"scheduler/verify",
			"scheduler/workflow",
			"store",
		},
		external: []string{"github.com/clipperhouse/displaywidth", "golang.org/x/term",
			"github.com/hashicorp/go-hclog", "github.com/mattn/go-isatty", "github.com/rogpeppe/go-internal/diff",
			"github.com/spf13/cobra/...", "github.com/spf13/pflag", "go.etcd.io/etcd/api/v3/v3rpc/rpctypes", etcdClient,
			"go.etcd.io/etcd/etcdctl/v3/ctlv3", "go.yaml.in/yaml/v4", "golang.org/x/sys/unix"},
	},
	"cmd/rota/internal/extract": {external: []string{"github.com/clipperhouse/displaywidth", "k8s.io/client-go/util/jsonpath"}},
	"cmd/rota/internal/importer": {
		own:      []string{"scheduler/job", "scheduler/policy", "scheduler/schedule"},
		external: []string{"go.yaml.in/yaml/v4"},
	},
	"cmd/rota/internal/credentials": {
		own:      []string{"cmd/rota/internal/atomicfile"},
		external: []string{"go.yaml.in/yaml/v4"},
	},
	"cmd/rota/internal/pki": {own: []string{"scheduler/api/auth"}},
	"deploy/examples/handlers": { // a user's program
		own:      []string{"cmd/rota/node", "config", "scheduler/executor/handler"},
		external: []string{"github.com/hashicorp/go-hclog"},
	},

	// The tests. A package that has only tests needs no row.
	"test/arch": {},
	"test/bench": {
		own: []string{"cmd/rota/node", "config", "scheduler/api/client", "scheduler/executor/handler", "scheduler/job",
			"scheduler/policy", "store", "store/embedded"},
		external: []string{"github.com/hashicorp/go-hclog", "go.etcd.io/etcd/api/v3/etcdserverpb", etcdClient},
	},
	"test/cluster": {
		own:      []string{"scheduler/api", "scheduler/api/client", "scheduler/job", "test/history", "test/ports"},
		external: []string{etcdClient, "go.etcd.io/etcd/client/pkg/v3/transport", "go.uber.org/zap"},
	},
	"test/deploy":  {},
	"test/docpage": {},
	"test/guards":  {},
	"test/history": {
		own:      []string{"scheduler/api", "scheduler/api/client", "scheduler/job", "scheduler/policy"},
		external: []string{"github.com/anishathalye/porcupine"},
	},
	"test/kubernetes":     {},
	"test/leaks":          {external: []string{"go.uber.org/goleak"}},
	"test/network":        {own: []string{"test/cluster", "test/history"}, external: []string{etcdClient}},
	"test/network/member": {own: []string{"store/embedded"}, external: []string{"github.com/hashicorp/go-hclog"}},
	"test/page":           {},
	"test/ports":          {},
	"test/proxy":          {external: []string{"google.golang.org/grpc/..."}},
	"test/release":        {},
	"test/sim":            {},
	"test/soak":           {},
	"test/systemd":        {},
	"test/words":          {},
}

const etcdClient = "go.etcd.io/etcd/client/v3"

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
		r, ok := rules[p.path()]
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
	for row := range rules {
		if !slices.ContainsFunc(list, func(p pkg) bool { return p.path() == row }) {
			t.Errorf("package %s does not exist: remove its row", row)
		}
	}
}
