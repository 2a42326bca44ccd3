package holes

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
)

// tokenTravelsPlain: `rota jobs --server http://10.9.9.9 --token-file f`.
func tokenTravelsPlain(v *server) (success bool, got string) {
	return v.givesToken(theInbox, theInbox.url, 0o600)
}

// tokenIsReadable: the same on loopback, with a file that every user can read.
func tokenIsReadable(v *server) (success bool, got string) {
	catcher := &inbox{}
	listening := http.Server{Handler: catcher, ReadHeaderTimeout: 10 * time.Second}
	ln := listen(v.t, "127.0.0.1:0")
	go listening.Serve(ln)
	defer listening.Close()
	return v.givesToken(catcher, "http://"+ln.Addr().String(), 0o644)
}

// givesToken lets the command line send a token to an inbox. The file of the token has a mode.
func (v *server) givesToken(in *inbox, url string, mode os.FileMode) (success bool, got string) {
	token := fmt.Sprintf("bait-%o-%d", mode, time.Now().UnixNano())
	file := filepath.Join(newDir(v.t, 0), "token")
	v.must(writePrivate(file, token))
	v.must(os.Chmod(file, mode))
	out, _ := as(v.t, 0, v.rota, "jobs", "--server", url, "--token-file", file) // its answer is wrong in any case
	return in.received("Bearer " + token), out
}

// linksAreFollowed: as root, with a data directory in which another user has put the link `rota.lock -> victim`.
func linksAreFollowed(v *server) (success bool, got string) {
	const text = "precious"
	dir := newDir(v.t, neighbourUser)
	data, victim := filepath.Join(dir, "data"), filepath.Join(dir, "victim")
	v.must(os.Mkdir(data, 0o777))
	v.must(os.Chmod(data, 0o777)) //nolint:gosec // this is the hole
	v.must(writePrivate(victim, text))
	v.must(os.Symlink(victim, filepath.Join(data, "rota.lock")))
	served := serve(v.t, setup{version: v.version, rota: v.rota, dir: dir})
	defer served.kill()
	now, err := os.ReadFile(victim)
	v.must(err)
	end := "it started"
	if !served.runs() {
		end = served.process.ProcessState.String()
	}
	return string(now) != text, fmt.Sprintf("the file of another user has %q; %s", now, end)
}

// removedAuthorityCounts: `http.tls.client_ca` has two authorities. After ca2 was taken out of the file and SIGHUP, its client
// still gets 200.
func removedAuthorityCounts(v *server) (success bool, got string) {
	ours, other := issue(v.t, "q1", "replica"), issue(v.t, "mallory", "user")
	rota(v.t, "pki", "issue", "alice", "--role", "user", "--dir", ours)
	dir := newDir(v.t, serviceUser)
	trusted := filepath.Join(dir, "trusted.crt")
	first, err := os.ReadFile(filepath.Join(ours, "ca.crt"))
	v.must(err)
	second, err := os.ReadFile(filepath.Join(other, "ca.crt"))
	v.must(err)
	v.must(os.WriteFile(trusted, append(append([]byte{}, first...), second...), 0o600))
	for _, path := range []string{trusted, ours, ours + "/q1.crt", ours + "/q1.key"} {
		v.must(os.Chown(path, serviceUser, serviceUser))
	}
	alice, mallory := certified(v, ours, "alice"), certified(v, other, "mallory")
	served := serve(v.t, setup{
		version: v.version, rota: v.rota, user: serviceUser, dir: dir, https: alice,
		flags: []string{"--http-tls-cert=" + ours + "/q1.crt", "--http-tls-key=" + ours + "/q1.key", "--http-tls-client-ca=" + trusted},
	})
	ask := func(client *http.Client) int {
		status, _ := served.askAt(client, served.url, http.MethodGet, "/v1/jobs", "")
		return status
	}
	if a, m := ask(alice), ask(mallory); a != http.StatusOK || m != http.StatusOK {
		v.t.Fatalf("%s does not admit both: %d and %d", v.version, a, m)
	}
	v.must(os.WriteFile(trusted, first, 0o600))
	served.hangUp()
	status := 0
	success = !cluster.Within(2*time.Second, func() bool { status = ask(mallory); return status != http.StatusOK })
	if a := ask(alice); a != http.StatusOK {
		v.t.Fatalf("%s no longer admits the other client: %d", v.version, a)
	}
	return success, fmt.Sprintf("the client of the removed authority gets %d; 0: no connection", status)
}

// writePrivate writes a file that only root can read.
func writePrivate(path, text string) error {
	return os.WriteFile(path, []byte(strings.TrimSpace(text)), 0o600)
}
