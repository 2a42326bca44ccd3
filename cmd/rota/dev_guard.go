package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/cmd/rota/internal/atomicfile"
	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// devGuard has the files that keep the other users of the machine away from a `rota dev`. All of them are new at each start, except
// the authority. Only the user that started `rota dev` can read them.
type devGuard struct {
	dir   string // data directory
	state string // directory in which this user's commands look for a `rota dev`; empty: none
	plain bool   // etcd has no TLS, because an older version made the data of these replicas
}

// The files of a devGuard, in its data directory and in the directory of its state.
const (
	devTokenFile    = "token"
	devAuthFile     = "auth.yaml"
	devCertificates = "tls"
	devClientName   = "client"
	devSettingsFile = "dev.yaml"
	devEntriesFile  = "dev-credentials.yaml"
)

// devCertificateLife is longer than any `rota dev` runs. The key is replaced at each start.
const devCertificateLife = 5 * 365 * 24 * time.Hour

func (g *devGuard) token() string           { return filepath.Join(g.dir, devTokenFile) }
func (g *devGuard) authFile() string        { return filepath.Join(g.dir, devAuthFile) }
func (g *devGuard) tls(file string) string  { return filepath.Join(g.dir, devCertificates, file) }
func (g *devGuard) settings() string        { return filepath.Join(g.dir, devSettingsFile) }
func (g *devGuard) pointer(f string) string { return filepath.Join(g.state, f) }

// make writes the files: a token for principal, and a certificate for each of the named replicas and for their clients.
func (g *devGuard) make(principal string, names []string, now time.Time) error {
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return fmt.Errorf("make directory of the data: %w", err)
	}
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		return err
	}
	rules, err := yaml.Marshal(map[string]any{"tokens": []map[string]any{{
		"id": secret.ID, "sha256": secret.Hash(), "principal": principal, "role": string(auth.Administrator),
		"note": "of this start of rota dev",
	}}})
	if err != nil {
		return fmt.Errorf("encode %s: %w", devAuthFile, err)
	}
	if err := atomicfile.Replace(g.authFile(), rules); err != nil {
		return fmt.Errorf("write rules of rota dev: %w", err)
	}
	if err := atomicfile.Replace(g.token(), []byte(secret.Text()+"\n")); err != nil {
		return fmt.Errorf("write token of rota dev: %w", err)
	}
	if g.plain {
		return nil
	}
	err = g.issue(names, now)
	if err != nil { // the authority is damaged, or it expires soon
		err = errors.Join(os.RemoveAll(g.tls("")), g.issue(names, now))
	}
	return err
}

// issue writes the certificates. It makes the authority if there is none.
func (g *devGuard) issue(names []string, now time.Time) error {
	authority, err := pki.Load(g.tls(""))
	if errors.Is(err, os.ErrNotExist) {
		authority, err = pki.Init(g.tls(""), "rota-dev", now)
	}
	if err != nil {
		return err
	}
	for _, name := range append([]string{devClientName}, names...) {
		kind := auth.KindReplica
		if name == devClientName {
			kind = auth.KindUser
		}
		if err := authority.Issue(g.tls(""), pki.Request{Name: name, Kind: kind, Life: devCertificateLife}, now); err != nil {
			return err
		}
	}
	return nil
}

// flags returns the settings of a replica that use the files.
func (g *devGuard) flags(name string) []string {
	flags := []string{"--auth-mode=required", "--auth-file=" + g.authFile()}
	if g.plain {
		return flags
	}
	return append(flags, "--etcd-embedded-tls-ca="+g.tls("ca.crt"),
		"--etcd-embedded-tls-cert="+g.tls(name+".crt"), "--etcd-embedded-tls-key="+g.tls(name+".key"))
}

// scheme returns the scheme of etcd's URLs.
func (g *devGuard) scheme() string {
	if g.plain {
		return "http"
	}
	return "https"
}

// configure writes the settings that lead to the store, for commands and for a worker that joins.
func (g *devGuard) configure(endpoints []string) error {
	etcd := map[string]any{"endpoints": endpoints}
	if !g.plain {
		etcd["tls"] = map[string]string{
			"ca": g.tls("ca.crt"), "cert": g.tls(devClientName + ".crt"), "key": g.tls(devClientName + ".key"),
		}
	}
	settings, err := yaml.Marshal(map[string]any{"etcd": etcd, "auth": map[string]string{"mode": "required", "file": g.authFile()}})
	if err != nil {
		return fmt.Errorf("encode %s: %w", devSettingsFile, err)
	}
	if err := atomicfile.Replace(g.settings(), settings); err != nil {
		return fmt.Errorf("write settings of rota dev: %w", err)
	}
	return nil
}

// publish lets the commands of this user find the servers and the store. It fails in a home that this user cannot write.
func (g *devGuard) publish(servers []string) error {
	if g.state == "" {
		return errors.New("neither XDG_STATE_HOME nor HOME is set")
	}
	settings, err := os.ReadFile(g.settings())
	if err != nil {
		return fmt.Errorf("read settings of rota dev: %w", err)
	}
	entries := credentials.File{Servers: map[string]credentials.Entry{}}
	for _, server := range servers {
		entries.Servers[server] = credentials.Entry{TokenFile: g.token()}
	}
	if err := entries.Save(g.pointer(devEntriesFile)); err != nil {
		return err
	}
	if err := atomicfile.Replace(g.pointer(devSettingsFile), settings); err != nil {
		return fmt.Errorf("write settings of rota dev: %w", err)
	}
	return nil
}

// withdraw removes what publish wrote to the state, unless another `rota dev` has replaced it.
func (g *devGuard) withdraw() {
	if g.state == "" {
		return
	}
	f, err := credentials.Load(g.pointer(devEntriesFile))
	if err != nil {
		return
	}
	for _, e := range f.Servers {
		if e.TokenFile != g.token() {
			return
		}
	}
	for _, name := range []string{devEntriesFile, devSettingsFile} {
		_ = os.Remove(g.pointer(name)) // a file that stays names a server that does not answer
	}
}

// stateDir returns the directory of this user's state; "" if neither XDG_STATE_HOME nor HOME is set.
func (c *cli) stateDir() string { return c.userDir("XDG_STATE_HOME", ".local/state") }

// userDir returns rota's directory in the one that a variable names, or else in one below HOME; "" if neither is set.
func (c *cli) userDir(variable, below string) string {
	if dir := c.getenv(variable); dir != "" {
		return filepath.Join(dir, "rota")
	}
	if home := c.getenv("HOME"); home != "" {
		return filepath.Join(home, below, "rota")
	}
	return ""
}

// madePlain reports whether the data of several replicas was made without TLS between the members of etcd. Members remember each
// other's URLs, so such data stays plain.
func madePlain(dir string, replicas int) bool {
	if replicas == 1 {
		return false // a single member has no peers
	}
	of := filepath.Join(dir, fmt.Sprintf("of-%d", replicas))
	if _, err := os.Stat(filepath.Join(of, "q1", "etcd")); err != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(of, devEncrypted))
	return err != nil
}

// devEncrypted is an empty file that marks data whose members use TLS.
const devEncrypted = "etcd-uses-tls"

// markEncrypted writes the mark that madePlain looks for.
func markEncrypted(dir string, replicas int) error {
	of := filepath.Join(dir, fmt.Sprintf("of-%d", replicas))
	if err := os.MkdirAll(of, 0o700); err != nil {
		return fmt.Errorf("make directory of the data: %w", err)
	}
	return os.WriteFile(filepath.Join(of, devEncrypted), nil, 0o600)
}

// joined returns URLs with ascending ports.
func joined(scheme string, port, count int) []string {
	urls := make([]string, count)
	for i := range urls {
		urls[i] = fmt.Sprintf("%s://127.0.0.1:%d", scheme, port+i)
	}
	return urls
}

// replicaNames returns the names of the replicas of `rota dev`.
func replicaNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("q%d", i+1)
	}
	return names
}

// devPrincipal is the name of the user in records.
func devPrincipal() string {
	if name := whoami(); name != "" && !strings.ContainsAny(name, "/:") {
		return name
	}
	return "dev"
}
