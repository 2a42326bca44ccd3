package arch

// cmdRules is libraryRules for the packages of the program.
var cmdRules = map[string]rule{
	// The parts of a process. Each declares the interfaces that it uses; only cmd/rota/node knows all of them.
	"cmd/rota/internal/activity":   {own: []string{"scheduler/delayed", "scheduler/job", "scheduler/policy", "scheduler/schedule"}},
	"cmd/rota/internal/atomicfile": {},
	"cmd/rota/internal/failure":    {},
	"cmd/rota/internal/authn": {
		own:      []string{"cmd/rota/internal/loop", "config", "scheduler/api", "scheduler/api/auth", "scheduler/job", "store"}, // of job, only ErrNotFound
		external: []string{"github.com/hashicorp/go-hclog", "golang.org/x/sys/unix", "golang.org/x/time/rate"},
	},
	"cmd/rota/internal/openid": {
		own:      []string{"cmd/rota/internal/loop", "cmd/rota/internal/trust", "config", "scheduler/api", "scheduler/api/auth"},
		external: []string{"github.com/coreos/go-oidc/v3/oidc", "github.com/go-jose/go-jose/v4", "github.com/hashicorp/go-hclog", "golang.org/x/oauth2"},
	},
	"cmd/rota/internal/signin": {
		own:      []string{"cmd/rota/internal/credentials", "config"}, // of config only IsLoopback
		external: []string{"github.com/coreos/go-oidc/v3/oidc", "golang.org/x/oauth2"},
	},
	"cmd/rota/internal/listeners": {own: []string{"cmd/rota/internal/loop"}},
	"cmd/rota/internal/loop":      {},
	"cmd/rota/internal/supervisor": {
		own:      []string{"cmd/rota/internal/loop"},
		external: []string{"github.com/coreos/go-systemd/v22/daemon", "github.com/hashicorp/go-hclog", "golang.org/x/sys/unix"},
	},
	"cmd/rota/internal/trust": {},
	"cmd/rota/internal/peer":  {own: []string{"cmd/rota/internal/trust", "config", "scheduler/api", "scheduler/api/auth", "scheduler/api/client"}},
	"cmd/rota/internal/etcdconn": {
		own: []string{"cmd/rota/internal/failure", "cmd/rota/internal/loop", "cmd/rota/internal/trust", "config", "election", "store/embedded"},
		external: []string{etcdClient, "go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/client/pkg/v3/transport", "google.golang.org/grpc/...",
			"go.uber.org/zap", "github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/admission": {
		own: []string{"cmd/rota/internal/atomicfile", "cmd/rota/internal/failure", "cmd/rota/internal/loop", "store",
			"scheduler/executor/output"}, // of output, only the wait for a disk
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/checkup": {
		own: []string{
			"cmd/rota/internal/etcdconn", "cmd/rota/internal/trust", "config", "scheduler/doctor", "scheduler/job", "store",
			"store/embedded",
		},
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
	"cmd/rota/internal/tracing": {
		own:      []string{"scheduler/executor", "scheduler/job"},
		external: []string{"github.com/hashicorp/go-hclog", "go.opentelemetry.io/otel/..."},
	},
	"cmd/rota/internal/notices": {
		own: []string{"cmd/rota/internal/failure", "cmd/rota/internal/loop", "config", "election", "scheduler/job", "scheduler/notify",
			"scheduler/notify/send", "store"},
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/jobfiles": {
		own: []string{"cmd/rota/internal/atomicfile", "cmd/rota/internal/loop", "config", "scheduler/job", "scheduler/workflow",
			"store"}, // of store, only Edit
		external: []string{"github.com/fsnotify/fsnotify", "github.com/hashicorp/go-hclog"},
	},
	"cmd/rota/internal/backend": {
		own: []string{"cmd/rota/internal/activity", "cmd/rota/internal/failure", "cmd/rota/internal/importer", "cmd/rota/internal/loop",
			"cmd/rota/internal/peer", "config", "election", "scheduler", "scheduler/api", "scheduler/api/auth", "scheduler/api/client", "scheduler/attention",
			"scheduler/doctor", "scheduler/explain", "scheduler/job", "scheduler/policy", "scheduler/schedule", "scheduler/suggest", "scheduler/timeline",
			"scheduler/verify", "scheduler/webhook", "scheduler/workflow", "store"},
		external: []string{etcdClient, "github.com/oklog/ulid/v2", "go.yaml.in/yaml/v4", "golang.org/x/time/rate"},
	},
	"cmd/rota/node": {
		own: []string{
			"cmd/rota/internal/activity",
			"cmd/rota/internal/admission",
			"cmd/rota/internal/authn",
			"cmd/rota/internal/backend",
			"cmd/rota/internal/checkup",
			"cmd/rota/internal/clocks",
			"cmd/rota/internal/etcdconn",
			"cmd/rota/internal/failure",
			"cmd/rota/internal/jobfiles",
			"cmd/rota/internal/listeners",
			"cmd/rota/internal/loop",
			"cmd/rota/internal/metrics",
			"cmd/rota/internal/notices",
			"cmd/rota/internal/openid",
			"cmd/rota/internal/peer",
			"cmd/rota/internal/presence",
			"cmd/rota/internal/rollcall",
			"cmd/rota/internal/tracing",
			"config",
			"election",
			"scheduler",
			"scheduler/api",
			"scheduler/api/auth",
			"scheduler/api/web",
			"scheduler/doctor",
			"scheduler/executor/...",
			"scheduler/job",
			"scheduler/kubeapi",
			"scheduler/notify/send",
			"scheduler/planner",
			"scheduler/policy",
			"scheduler/schedule",
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
			"cmd/rota/internal/peer",
			"cmd/rota/internal/pki",
			"cmd/rota/internal/signin",
			"cmd/rota/internal/supervisor",
			"cmd/rota/internal/top",
			"cmd/rota/node",
			"config",
			"scheduler/api",
			"scheduler/api/auth",
			"scheduler/api/client",
			"scheduler/attention",
			"scheduler/doctor",
			"scheduler/executor/cgroups",
			"scheduler/executor/procs",
			"scheduler/executor/fill",
			"scheduler/executor/refs",
			"scheduler/job",
			"scheduler/kubeapi",
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
			"go.etcd.io/etcd/etcdctl/v3/ctlv3", "go.etcd.io/etcd/etcdutl/v3/etcdutl", "go.yaml.in/yaml/v4", "golang.org/x/sys/unix"},
	},
	"cmd/rota/internal/extract": {external: []string{"github.com/clipperhouse/displaywidth", "k8s.io/client-go/util/jsonpath"}},
	"cmd/rota/internal/top": {
		own:      []string{"scheduler/api", "scheduler/api/client", "scheduler/job"},
		external: []string{"charm.land/bubbletea/v2", "github.com/charmbracelet/colorprofile", "github.com/charmbracelet/x/ansi"},
	},
	"cmd/rota/internal/importer": {
		own:      []string{"config", "scheduler/executor/refs", "scheduler/job", "scheduler/policy", "scheduler/schedule"},
		external: []string{"go.yaml.in/yaml/v4"},
	},
	"cmd/rota/internal/credentials": {
		own:      []string{"cmd/rota/internal/atomicfile"},
		external: []string{"go.yaml.in/yaml/v4", "golang.org/x/sys/unix"},
	},
	"cmd/rota/internal/pki": {own: []string{"scheduler/api/auth"}},
	"cmd/rota/internal/pki/pkitest": { // for tests
		own: []string{"cmd/rota/internal/pki", "scheduler/api/auth"},
	},
	"deploy/examples/handlers": { // a user's program
		own:      []string{"cmd/rota/node", "config", "scheduler/executor/handler"},
		external: []string{"github.com/hashicorp/go-hclog"},
	},
}
