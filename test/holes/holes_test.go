package holes

import (
	"fmt"
	"os"
	"testing"
)

// attack tries to do what the document about the hole describes. It reports whether that succeeded, and what the attacker got.
type attack func(v *server) (success bool, got string)

// The configurations of the present version. The attackers of roles have the role author-command, and none where the
// hole is that no role was needed.
const (
	standard = "default"  // no setting about security
	insecure = "insecure" // the API listens beyond loopback, without authentication
	roles    = "roles"    // as docs/how-to/secure-the-api.md and docs/how-to/restrict-jobs.md describe it
	runAs    = "run_as"   // the same, and worker.run_as
	ownStart = ""         // the attack starts the process itself
)

// holes has a row for each attack of the security review of version 0.1.0. V1 to V17 are the numbers of the review.
var holes = []struct {
	hole    string
	present []string // configurations in which the attack must fail
	attack  attack
}{
	{"V1 DNS rebinding executes commands", []string{insecure, roles}, rebindingExecutes},
	{"V2 DNS rebinding reads on loopback", []string{standard, roles}, rebindingReads},
	// A replica with the settings of the default leaves loopback open, as docs/how-to/secure-the-api.md says in its first sentence.
	{"V3 a neighbour on the machine becomes the user of the service", []string{roles}, neighbourExecutes},
	{"V3 a neighbour reads and writes etcd", []string{roles}, neighbourWrites},
	{"V3 a neighbour enters rota dev", []string{ownStart}, neighbourEntersDev},
	{"V4 a job sends files and variables of the worker away", []string{standard, roles}, jobSendsSecrets},
	{"V4 a notifier sends files and variables of the leader away", []string{standard, roles}, notifierSendsSecrets},
	{"V5 a job reads the metadata service", []string{standard, roles}, jobReadsMetadata},
	{"V5 an http job becomes a command by the own API", []string{standard, roles}, jobAsksOwnAPI},
	{"V5 a job reaches etcd", []string{standard, roles}, jobAsksEtcd},
	{"V6 lists fill the memory", []string{standard}, listsFillMemory},
	{"V7 waiting runs of a job are unbounded", []string{standard}, submissionsAreUnbounded},
	{"V7 changes of a client are unbounded", []string{standard, roles}, changesAreUnbounded},
	{"V8 streams use up the descriptors", []string{ownStart}, streamsTakeDescriptors},
	// worker.refs can allow a variable that a command then has in its arguments: `rota check` warns of that.
	{"V9 a secret in the arguments of a command", []string{standard, roles}, argumentsShowSecrets},
	{"V10 a job reads the variables of its worker", []string{standard, roles, runAs}, jobReadsWorker},
	{"V10 a job inherits descriptors", []string{standard, roles, runAs}, jobInheritsDescriptors},
	// Without worker.run_as, a job has the user of its worker, as docs/explanation/threat-model.md says.
	{"V10 a job can end its worker and read the keys", []string{runAs}, jobRulesWorker},
	{"V11 a change leaves no record of its author", []string{standard, roles}, changeIsAnonymous},
	{"V12 a removed authority stays trusted", []string{ownStart}, removedAuthorityCounts},
	{"V13 a token goes over plain HTTP", []string{ownStart}, tokenTravelsPlain},
	{"V13 a token that others can read is used", []string{ownStart}, tokenIsReadable},
	{"V14 links in the data directory lead to other files", []string{ownStart}, linksAreFollowed},
	{"V15 metrics of deleted jobs stay", []string{standard, roles}, metricsStay},
	{"V16 output of a job controls the terminal", []string{standard, roles}, outputControlsTerminal},
	{"V17 etcd shows metrics and its command line", []string{roles}, etcdShowsInsides},
}

// TestHoles tries each attack against version 0.1.0, where it must succeed, and against the present version, where it must fail.
func TestHoles(t *testing.T) {
	switch {
	case why != "" && os.Getenv("ROTA_CI") == "1" && !testing.Short():
		t.Fatal(why)
	case why != "":
		t.Skip(why)
	}
	m := &machine{t: t, servers: map[string]*server{}}
	for _, h := range holes {
		t.Run(h.hole, func(t *testing.T) {
			configuration := "default"
			if h.present[0] == ownStart {
				configuration = ownStart
			}
			if success, got := h.attack(m.old(t, configuration)); !success {
				t.Errorf("version 0.1.0 does not have the hole, so the test proves nothing: %s", got)
			} else {
				t.Logf("version 0.1.0 has the hole: %.300s", got)
			}
			for _, configuration := range h.present {
				v := m.present(t, configuration)
				if success, got := h.attack(v); success {
					t.Errorf("%s has the hole: %s", v.version, got)
				} else {
					t.Logf("%s refuses the attack: %.300s", v.version, got)
				}
			}
		})
	}
}

// machine has the servers, which start when an attack needs them first.
type machine struct {
	t       *testing.T // of all tests
	servers map[string]*server
}

// old returns the server of version 0.1.0, for the attack of a test.
func (m *machine) old(t *testing.T, configuration string) *server {
	t.Helper()
	const version = "version 0.1.0"
	if configuration == ownStart {
		return &server{t: t, rota: oldRota, version: version}
	}
	return m.server(t, version, func() setup {
		return setup{version: version, rota: oldRota, user: serviceUser, listen: "0.0.0.0"}
	})
}

// present returns a server of the present version.
func (m *machine) present(t *testing.T, configuration string) *server {
	t.Helper()
	version := fmt.Sprintf("the present version (%s)", configuration)
	if configuration == ownStart {
		return &server{t: t, rota: presentRota, version: "the present version"}
	}
	return m.server(t, version, func() setup {
		s := setup{version: version, rota: presentRota, user: serviceUser}
		switch configuration {
		case insecure:
			s.listen, s.flags = "0.0.0.0", []string{"--insecure"}
		case roles:
			return s.withRoles(m.t)
		case runAs:
			s.user = 0
			s = s.withRoles(m.t)
			s.flags = append(s.flags, fmt.Sprintf("--worker-run-as=%d:%d", jobUser, jobUser))
		}
		return s
	})
}

func (m *machine) server(t *testing.T, name string, make func() setup) *server {
	t.Helper()
	if m.servers[name] == nil {
		m.servers[name] = serve(m.t, make())
	}
	v := *m.servers[name]
	if v.t = t; !v.runs() { // every attack on it would fail
		t.Fatalf("%s has ended", name)
	}
	return &v
}
