package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

// load loads settings from the text of a file, flags and an environment.
func load(t *testing.T, text string, args []string, environ ...string) (Settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rota.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return LoadSettings(path, flags, append(environ, "HOME=/home/u"))
}

// compareSettings has the options for cmp to compare settings.
var compareSettings = []cmp.Option{cmpopts.IgnoreUnexported(Settings{}), cmpopts.EquateComparable(netip.Prefix{})}

func TestDefaultsOfSettings(t *testing.T) {
	got, err := LoadSettings("", nil, []string{"HOME=/home/u", "ROTA_NODE_NAME=q1"})
	if err != nil {
		t.Fatal(err)
	}
	dir := "/home/u/.local/state/rota"
	if os.Geteuid() == 0 {
		dir = "/var/lib/rota"
	}
	refs := Refs{Files: []string{"/run/secrets/*"}, Env: []string{"ROTA_SECRET_*"}}
	want := Settings{
		Node:     Node{Name: "q1", DataDir: dir},
		HTTP:     HTTP{Listen: "127.0.0.1:8470", Advertise: "127.0.0.1:8470"},
		Etcd:     Etcd{Prefix: "/rota", Embedded: Embedded{Client: "http://127.0.0.1:2379", Peer: "http://127.0.0.1:2380", Rejoin: RejoinManual}},
		Election: Election{TTL: 5 * time.Second, FastTakeover: true},
		Dispatch: Dispatch{ArmAhead: 2 * time.Second, MaxClockOffset: 500 * time.Millisecond},
		Worker: Worker{
			Enabled: true, Capacity: 64, Kinds: []string{"command", "http", "handler"}, ShutdownGrace: 25 * time.Second, Refs: refs,
			Pressure:  Pressure{Memory: 60},
			Container: Engine{Socket: "/var/run/docker.sock", Networks: []string{"none", "bridge"}},
		},
		Notify:  Notify{Refs: refs, Ping: ClusterPing{Service: "healthchecks", Every: time.Minute}},
		Hooks:   Hooks{Refs: refs},
		Output:  Output{Keep: 720 * time.Hour},
		History: History{Success: 100, Failed: 1000, MaxAge: 168 * time.Hour},
		Bounds:  Bounds{Waiting: 50000, Jobs: 1000000, Space: 80, Reads: 1000},
		Metrics: Metrics{Jobs: 1000},
		Log:     Log{Level: "info", Format: "json"},
		Auth:    Auth{Mode: AuthOff, OIDC: OpenID{Scopes: []string{"openid", "email", "profile"}, PrincipalClaim: "email", GroupsClaim: "groups"}},
	}
	if diff := cmp.Diff(want, got, compareSettings...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const contractSettings = `
node: {name: q1, data_dir: /var/lib/rota}
http: {listen: 0.0.0.0:8470, advertise: "q1:8470", hosts: ["*.example.com"], tls: {cert: /c, key: /k, client_ca: /ca}}
etcd:
  endpoints: [https://etcd-1:2379]
  prefix: /rota
  tls: {cert: /c, key: /k, ca: /ca}
  username: rota
  password_file: /run/secrets/etcd
election: {ttl: 5s}
dispatch: {arm_ahead: 2s, max_clock_offset: 500ms}
worker:
  enabled: true
  capacity: 64
  labels: {Zone: A, disk.type: ssd}
  refs: {files: [/run/secrets/*], env: [ROTA_SECRET_*]}
  http: {allow: [10.0.0.0/8, "::1"], deny: [169.254.0.0/16]}
notify: {refs: {files: [/etc/tokens/**]}, http: {deny: [10.1.2.3/8]}}
jobs: /etc/rota/jobs.d
history: {success: 100, failed: 1000, max_age: 168h}
auth:
  mode: required
  file: /etc/rota/auth.yaml
  oidc: {issuer: https://login.example.com, client_id: rota, client_secret_file: /s, audiences: [ci], groups_claim: roles, ca: /ca}
insecure: true
log: {level: info, format: json}
`

func TestEverySettingIsReadAndWritten(t *testing.T) {
	first, err := load(t, contractSettings, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"Zone": "A", "disk.type": "ssd"}, first.Worker.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	golden(t, "testdata/settings/contract.golden", first.YAML())
	second, err := load(t, string(first.YAML()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second, compareSettings...); diff != "" {
		t.Errorf("written and read again it differs (-before +after):\n%s", diff)
	}
}

func TestLeadFallsBetweenSeconds(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{
		0: 0, 500 * time.Millisecond: 500 * time.Millisecond, 600 * time.Millisecond: 600 * time.Millisecond,
		time.Second: 600 * time.Millisecond, 2 * time.Second: 1600 * time.Millisecond, 2700 * time.Millisecond: 2600 * time.Millisecond,
		time.Minute: 59600 * time.Millisecond,
	} {
		if got := (Dispatch{ArmAhead: ahead}).Lead(); got != want {
			t.Errorf("arm_ahead %v: armed %v before the slot, want %v", ahead, got, want)
		}
	}
}

func TestAddressForOthersFollowsListen(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8470": "127.0.0.1:8470", "0.0.0.0:81": "q1:81", "[::]:81": "q1:81", ":81": "q1:81", "host:81": "host:81",
	} {
		s, err := load(t, "insecure: true\nnode: {name: q1}\nhttp: {listen: '"+listen+"'}\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.HTTP.Advertise != want {
			t.Errorf("listen %s: advertise %s, want %s", listen, s.HTTP.Advertise, want)
		}
	}
}

func TestHostNamesBecomeLabels(t *testing.T) {
	for host, want := range map[string]string{
		"q1": "q1", "Q1.example.org": "q1", "my_host": "my-host", "_x_": "x", strings.Repeat("a", 80): strings.Repeat("a", 63),
	} {
		if got := label(host); got != want {
			t.Errorf("label(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestUnknownVariablesGiveWarnings(t *testing.T) {
	s, err := load(t, "", nil, "ROTA_NODE_NAME=q1", "ROTA_ELECTION_TLL=5s", "ROTA_SERVER=x", "ROTA_TOKEN_FILE=x", "ROTA_CACERT=x", "ROTA_CERT=x", "ROTA_CERT_KEY=x", "ROTA_PAGER=cat", "ROTA_JOB=a", "ROTA_SECRET_SLACK=x",
		"ROTA_PARAM_DAY=1", "ROTA_INPUT_A_B=x", "ROTA_OUTPUT=x", "ROTA_MARK=x",
		"ROTA_PORT=tcp://10.0.0.1:8470", "ROTA_SERVICE_HOST=10.0.0.1", "ROTA_PORT_8470_TCP_ADDR=10.0.0.1", "ROTA_HTTP_SERVICE_PORT_API=1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"environment variable ROTA_ELECTION_TLL is not known: did you mean ROTA_ELECTION_TTL?"}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVariablesOfSettingsAreListed(t *testing.T) {
	got := Variables([]string{"ROTA_NODE_NAME=q1", "ROTA_ELECTION_TLL=5s", "ROTA_SERVER=x", "ROTA_JOB=a", "ROTA_JOBS=jobs.d",
		"ROTA_CONFIG=x", "ROTA_LOG_LEVEL=", "HOME=/home/u"})
	if diff := cmp.Diff([]string{"ROTA_CONFIG", "ROTA_JOBS", "ROTA_NODE_NAME"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndpointsWinOverAnEmbeddedMember(t *testing.T) {
	const text = "node: {name: q1}\netcd:\n  endpoints: [http://etcd-1:2379]\n"
	s, err := load(t, text+"  embedded: {client: 'http://127.0.0.1:2379', cluster: 'q2=http://q2:2380'}\n", nil, "ROTA_ETCD_EMBEDDED_PEER=nonsense")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Etcd{Endpoints: []string{"http://etcd-1:2379"}, Prefix: "/rota"}, s.Etcd); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []string{"not used, since etcd.endpoints is given: etcd.embedded.client, etcd.embedded.peer, etcd.embedded.cluster"}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if s, err := load(t, text, nil); err != nil || len(s.Warnings) > 0 {
		t.Errorf("without: got %v, %v", s.Warnings, err)
	}
}

func TestSettingsMistakesAreExplained(t *testing.T) {
	paths, _ := filepath.Glob("testdata/settings/*.yaml")
	if len(paths) == 0 {
		t.Fatal("no files")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			_, err := LoadSettings(path, nil, []string{"HOME=/home/u", "ROTA_NODE_NAME=q1"})
			if err == nil {
				t.Fatal("accepted")
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", []byte(err.Error()+"\n"))
		})
	}
}

func TestMistakesInFlagsAndVariablesNameThem(t *testing.T) {
	_, err := load(t, "", []string{"--election-ttl=1s", "--worker-enabled=maybe"}, "ROTA_NODE_NAME=Q_1", "ROTA_HISTORY_MAX_AGE=7d",
		"ROTA_WORKER_CAPACITY=many", "ROTA_WORKER_LABELS=zone=a,b")
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`flag --worker-enabled: worker.enabled must be true or false, not the text "maybe"`,
		`environment variable ROTA_HISTORY_MAX_AGE: history.max_age "7d" is not a duration`,
		`environment variable ROTA_WORKER_CAPACITY: worker.capacity must be a whole number, not the text "many"`,
		`environment variable ROTA_WORKER_LABELS: worker.labels must be name=value, by commas, not the text "zone=a,b"` + "\n" +
			`   hint: such as zone=a,rack=1`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	_, err = load(t, "", []string{"--worker-labels=a=1,a=2"})
	if err == nil || strings.Contains(err.Error(), "line") ||
		!strings.Contains(err.Error(), `flag --worker-labels: duplicate key "a" in worker.labels`+"\n") {
		t.Errorf("a label that is given twice: got %v", err)
	}
	_, err = load(t, "", []string{"--election-ttl=1s"}, "ROTA_NODE_NAME=Q_1")
	for _, want := range []string{
		`flag --election-ttl: election.ttl 1s is not between 2s and 10m`,
		`environment variable ROTA_NODE_NAME: node.name is no name`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

func TestLoadEtcdReadsNoOtherSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rota.yaml")
	for _, tc := range []struct {
		text    string
		environ []string
		want    string // the endpoint or the embedded member's address, or a part of the error text
	}{
		{"node: {name: No Name}\nelection: {ttl: 1ms}\netcd: {endpoints: [http://e:2379]}\n", nil, "http://e:2379"},
		{"", []string{"ROTA_NODE_NAME=No Name", "ROTA_WORKER_CAPACITY=many", "ROTA_ETCD_ENDPOINTS=http://e:2379"}, "http://e:2379"},
		{"etcd: {embedded: {client: 'http://q1:2379', peer: 'http://q1:2380', cluster: 'q1=http://q1:2380'}}\n", []string{"ROTA_NODE_NAME=q2"}, "http://q1:2379"},
		{"etcd: {endpoints: [http://e]}\n", nil, `etcd.endpoints "http://e" needs a host and a port`},
		{"etcd: {username: u}\n", nil, "etcd.username is given without its counterpart"},
		{"etcd: {prefix: rota}\n", nil, `etcd.prefix "rota" must begin with a slash`},
		{"etcd: {endpoint: http://e:2379}\n", nil, `unknown key "endpoint" in etcd`},
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := LoadEtcd(path, tc.environ)
		if err != nil {
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q: got %v, want %s", tc.text, err, tc.want)
			}
			continue
		}
		if where := append(got.Endpoints, got.Embedded.Client)[0]; where != tc.want {
			t.Errorf("%q: got %s, want %s", tc.text, where, tc.want)
		}
	}
}

func TestFlagsHaveTheNamesOfKeys(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	for _, name := range []string{"node-name", "node-data-dir", "etcd-endpoints", "etcd-embedded-cluster", "election-ttl", "jobs"} {
		if flags.Lookup(name) == nil {
			t.Errorf("no flag --%s", name)
		}
	}
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.env()] || s.usage == "" {
			t.Errorf("setting %s: variable %s is not its own, or it has no usage", s.key, s.env())
		}
		seen[s.env()] = true
	}
}
