package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/provider"
)

// rota runs a command as a person who has signed in, or does so.
func (s *signedIn) rota(args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), binary, append(args, "--server", s.node.URL, "--cacert", s.p.CA())...)
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// login runs `rota login`, and signs a person in at the provider. Nil refuses. shown matches the output, and its group is the address
// that the person opens.
func (s *signedIn) login(user provider.Claims, shown string, flags ...string) (string, error) {
	s.t.Helper()
	s.p.Be(user)
	cmd := exec.CommandContext(s.t.Context(), binary, append([]string{"login", "--server", s.node.URL, "--cacert", s.p.CA()}, flags...)...)
	cmd.Env = []string{"HOME=" + s.home} // without a PATH, it finds no browser
	var said buffer.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	complete := regexp.MustCompile(shown)
	if !Within(20*time.Second, func() bool { return complete.MatchString(said.String()) }) {
		s.t.Errorf("rota login does not say where to sign in: %s", said.String())
	} else {
		s.visit(s.browser(), "GET", complete.FindStringSubmatch(said.String())[1], "")
	}
	err := cmd.Wait()
	return said.String(), err
}

// The addresses that rota login shows.
const (
	byCode    = `or open (\S+)`
	byBrowser = `open (\S+) in a browser on this machine`
)

// withABrowser signs in by the code flow, which ends at a port of the command.
func (s *signedIn) withABrowser(t *testing.T) {
	if out, err := s.login(nil, byBrowser, "--browser"); err == nil || !strings.Contains(out, "somebody denied it") {
		t.Errorf("a refused sign-in: got %v, %s", err, out)
	}
	s.p.ConfuseNonce("of another sign-in")
	if out, err := s.login(bob, byBrowser, "--browser"); err == nil || !strings.Contains(out, "belongs to another sign-in") {
		t.Errorf("an ID token of another sign-in: got %v, %s", err, out)
	}
	s.p.ConfuseNonce("")
	if out, err := s.rota("jobs"); err == nil {
		t.Fatalf("a stranger sees the jobs: %s", out)
	}
	s.p.Live(30 * time.Second) // shorter than the time before the end in which commands renew
	if out, err := s.login(bob, byBrowser, "--browser"); err != nil || !strings.Contains(out, "signed in as bob@example.com") {
		t.Fatalf("rota login --browser: %v\n%s", err, out)
	}
	s.p.Live(time.Hour)
	if out, err := s.rota("whoami"); err != nil || !strings.Contains(out, "bob@example.com") || !strings.Contains(out, "operator of group sre, for the whole cluster") {
		t.Errorf("rota whoami: %v\n%s", err, out)
	}
	for range 2 { // the first one renews the token
		if out, err := s.rota("jobs"); err != nil || !strings.Contains(out, "other") {
			t.Errorf("rota jobs: %v\n%s", err, out)
		}
	}
	if out, err := s.rota("logout"); err != nil {
		t.Errorf("rota logout: %v, %s", err, out)
	}
}

func (s *signedIn) onTheCommandLine(t *testing.T) {
	if out, err := s.rota("jobs"); err == nil {
		t.Fatalf("a stranger sees the jobs: %s", out)
	}
	if out, err := s.login(nil, byCode); err == nil || !strings.Contains(out, "somebody denied it") {
		t.Errorf("a refused sign-in: got %v, %s", err, out)
	}
	file := filepath.Join(s.home, ".config", "rota", "credentials.yaml")
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused sign-in leaves credentials")
	}
	s.p.Live(30 * time.Second) // shorter than the time before the end in which commands renew
	if out, err := s.login(bob, byCode); err != nil || !strings.Contains(out, "signed in as bob@example.com") {
		t.Fatalf("rota login: %v\n%s", err, out)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("credentials: got %v, %v, want the mode 0600", info, err)
	}
	asked := s.p.Asked("/token")
	var wg sync.WaitGroup
	for range 4 { // each refresh token can be used once
		wg.Go(func() {
			if out, err := s.rota("jobs"); err != nil || !strings.Contains(out, "other") {
				t.Errorf("rota jobs: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	if got := s.p.Asked("/token") - asked; got < 4 {
		t.Errorf("four commands renewed a token that ends soon %d times", got)
	}
	asked = s.p.Asked("/token")
	s.p.Live(time.Hour)
	for range 3 {
		if out, err := s.rota("jobs"); err != nil {
			t.Errorf("rota jobs: %v\n%s", err, out)
		}
	}
	if got := s.p.Asked("/token") - asked; got != 1 {
		t.Errorf("a token was renewed %d times by one that lives for an hour, want once", got)
	}
	if out, err := s.rota("pause", "--all", "--yes"); err == nil {
		t.Errorf("an operator pauses all jobs: %s", out)
	}
	revoked := s.p.Asked("/revoke")
	if out, err := s.rota("logout"); err != nil || s.p.Asked("/revoke") != revoked+1 {
		t.Errorf("rota logout: %v, %s", err, out)
	}
	if out, err := s.rota("jobs"); err == nil {
		t.Errorf("after the sign-out: %s", out)
	}
}
