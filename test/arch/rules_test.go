package arch

// libraryRules has one row for each package outside cmd. A package imports only the packages of its row and the standard library.
var libraryRules = map[string]rule{
	// The packages of the domain. They do no I/O.
	"scheduler/job":      {},
	"scheduler/suggest":  {},
	"scheduler/keyed":    {},
	"scheduler/delayed":  {own: []string{"scheduler/job", "scheduler/keyed"}},
	"scheduler/schedule": {external: []string{"github.com/netresearch/go-cron"}},
	"scheduler/policy":   {own: []string{"scheduler/job", "scheduler/schedule"}},
	"scheduler/workflow": {own: []string{"scheduler/job", "scheduler/schedule"}},
	"scheduler/planner": {own: []string{"scheduler/job", "scheduler/delayed", "scheduler/keyed", "scheduler/schedule", "scheduler/policy",
		"scheduler/workflow"}},
	"scheduler/explain":   {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy"}},
	"scheduler/verify":    {own: []string{"scheduler/job", "scheduler/schedule", "scheduler/policy", "scheduler/workflow"}},
	"scheduler/notify":    {own: []string{"scheduler/budget", "scheduler/job", "scheduler/policy"}},
	"scheduler/attention": {own: []string{"scheduler/job"}},
	"scheduler/timeline":  {own: []string{"scheduler/job"}},
	"scheduler/budget":    {},
	"scheduler/webhook":   {own: []string{"scheduler/budget", "scheduler/job"}, external: []string{"github.com/standard-webhooks/standard-webhooks/libraries/go"}},
	"scheduler/doctor":    {own: []string{"scheduler/job"}},

	// Mechanisms: each declares the interfaces that it uses, and knows neither etcd nor settings.
	"scheduler": {
		own:      []string{"scheduler/job", "scheduler/planner", "election"}, // of election, only Term and its errors
		external: []string{"github.com/hashicorp/go-hclog"},
	},
	"scheduler/worker": {
		own: []string{"scheduler/job", "scheduler/keyed", "scheduler/policy",
			"scheduler/executor", "scheduler/executor/output", "scheduler/executor/procs"},
		// bbolt is the file of the journal on this machine. It does not contact etcd, although the module's name says so.
		external: []string{"github.com/hashicorp/go-hclog", "github.com/cenkalti/backoff/v5", "go.etcd.io/bbolt", "go.etcd.io/bbolt/errors"},
	},
	"scheduler/target":             {}, // services import it: it has no dependencies
	"scheduler/executor":           {own: []string{"scheduler/job"}},
	"scheduler/executor/cgroups":   {external: system},
	"scheduler/executor/command":   {own: append([]string{"scheduler/executor/cgroups"}, executing...), external: system},
	"scheduler/executor/container": {own: executing, external: []string{"github.com/hashicorp/go-hclog"}},
	"scheduler/executor/handler":   {own: executing},
	"scheduler/executor/http":      {own: executing, external: system},
	// Of kubeapi, only the errors of its answers.
	"scheduler/executor/kubernetes": {
		own: append([]string{"scheduler/kubeapi"}, executing...), external: []string{"github.com/hashicorp/go-hclog"},
	},
	"scheduler/kubeapi":         {external: []string{"go.yaml.in/yaml/v4"}},
	"scheduler/executor/output": {external: append([]string{"github.com/minio/minio-go/v7/..."}, system...)},
	"scheduler/executor/procs":  {external: system},
	"scheduler/executor/refs":   {},
	"scheduler/executor/dial":   {},
	"scheduler/executor/fill":   {own: []string{"scheduler/budget", "scheduler/job", "scheduler/executor/refs"}},
	"scheduler/notify/send": {
		own:      []string{"scheduler/job", "scheduler/notify", "scheduler/executor", "scheduler/executor/refs", "scheduler/executor/dial"}, // of executor, only Redactor
		external: []string{"github.com/google/uuid", "github.com/hashicorp/go-hclog", "github.com/nicholas-fedor/shoutrrr/pkg/..."},
	},
	"scheduler/api": {
		own: []string{"scheduler/api/auth", "scheduler/attention", "scheduler/doctor", "scheduler/job", "scheduler/suggest", "scheduler/timeline",
			"scheduler/verify", "scheduler/webhook"},
		external: []string{"github.com/danielgtaylor/huma/v2/...", "github.com/hashicorp/go-hclog", "golang.org/x/time/rate"},
	},
	"scheduler/api/auth":   {},
	"scheduler/api/web":    {own: []string{"scheduler/api", "scheduler/api/auth", "scheduler/attention", "scheduler/job", "scheduler/timeline"}, external: []string{"go.yaml.in/yaml/v4"}},
	"scheduler/api/client": {own: []string{"scheduler/job", "scheduler/api", "scheduler/timeline"}},

	// Only these packages know etcd.
	"election": {
		external: []string{etcdClient, "go.etcd.io/etcd/client/v3/concurrency", "go.etcd.io/etcd/api/v3/...",
			"google.golang.org/grpc", // for the streams on which leases are renewed
			"github.com/cenkalti/backoff/v5", "github.com/hashicorp/go-hclog", "golang.org/x/sys/unix"},
	},
	"store": {
		// Of election: Term, its errors, and leases for presences. Of auth: the records of sessions.
		own: []string{"scheduler/delayed", "scheduler/job", "scheduler/api/auth", "election"},
		external: []string{etcdClient, "go.etcd.io/etcd/api/v3/...", "google.golang.org/grpc/...", "github.com/hashicorp/go-hclog",
			"github.com/oklog/ulid/v2"}, // for the ids of audit records
	},
	"store/embedded": {
		// bbolt reads the list of members in etcd's own file.
		external: []string{"go.etcd.io/bbolt", "go.etcd.io/bbolt/errors", etcdClient, "go.etcd.io/etcd/client/pkg/v3/fileutil",
			"go.etcd.io/etcd/client/pkg/v3/transport", "go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/server/v3/...",
			"go.uber.org/zap/...", "google.golang.org/grpc/...", "google.golang.org/protobuf/proto",
			"github.com/hashicorp/go-hclog", "golang.org/x/sys/unix"},
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
		own:      []string{"config/ics", "scheduler/job", "scheduler/policy", "scheduler/schedule", "scheduler/workflow", "scheduler/suggest", "scheduler/notify", "scheduler/executor/fill", "scheduler/api/auth", "scheduler/webhook"}, // of notify only Schemes and CheckTemplate, of fill only Check
		external: []string{"github.com/spf13/viper", "github.com/spf13/pflag", "go.yaml.in/yaml/v4/..."},
	},
	"config/ics": {own: []string{"scheduler/schedule"}, external: []string{"github.com/arran4/golang-ical", "github.com/teambition/rrule-go"}},

	// The tests. A package that has only tests needs no row.
	"test/arch":   {},
	"test/buffer": {},
	"test/bench": {
		own: []string{"cmd/rota/node", "config", "election", "scheduler", "scheduler/api/client", "scheduler/executor",
			"scheduler/executor/handler", "scheduler/job", "scheduler/planner", "scheduler/policy", "scheduler/worker",
			"store", "store/embedded", "store/mem"},
		external: []string{"github.com/hashicorp/go-hclog", "go.etcd.io/etcd/api/v3/etcdserverpb", etcdClient},
	},
	"test/cluster": {
		own:      []string{"scheduler/api", "scheduler/api/client", "scheduler/job", "test/history", "test/ports"},
		external: []string{etcdClient, "go.etcd.io/etcd/client/pkg/v3/transport", "go.uber.org/zap"},
	},
	"test/containers": {},
	"test/deploy":     {},
	"test/docpage":    {},
	"test/fewfiles":   {},
	"test/files":      {},
	"test/guards":     {},
	"test/holes":      {},
	"test/history": {
		own:      []string{"scheduler/api", "scheduler/api/client", "scheduler/job", "scheduler/policy"},
		external: []string{"github.com/anishathalye/porcupine"},
	},
	"test/heldfile":       {own: []string{"scheduler/job"}},
	"test/kubernetes":     {own: []string{"scheduler/api", "scheduler/job", "test/cluster"}},
	"test/lacking":        {},
	"test/leaks":          {external: []string{"go.uber.org/goleak"}},
	"test/network":        {own: []string{"test/cluster", "test/history"}, external: []string{etcdClient}},
	"test/network/member": {own: []string{"store/embedded"}, external: []string{"github.com/hashicorp/go-hclog"}},
	"test/page":           {},
	"test/terminal":       {},
	"test/poll":           {},
	"test/ports":          {},
	"test/provider":       {external: []string{"github.com/go-jose/go-jose/v4"}},
	"test/proxy":          {external: []string{"google.golang.org/grpc/..."}},
	"test/release":        {},
	"test/runbooks":       {},
	"test/sim":            {},
	"test/soak":           {},
	"test/systemd":        {},
	"test/words":          {},
}
