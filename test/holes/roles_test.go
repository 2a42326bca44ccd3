package holes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/test/files"
)

// withRoles adds authentication, TLS of etcd and the examples of the documentation for references and networks.
func (s setup) withRoles(t *testing.T) setup {
	t.Helper()
	s.dir, s.secure, s.listen = newDir(t, s.user), true, "0.0.0.0"
	made, entry, _ := strings.Cut(rota(t, "token", "create", "mallory", "--role", "author-command", "--offline"), "\n")
	s.token = made
	_, entry, _ = strings.Cut(entry, "auth.file:\n")
	auth := files.Write(t, filepath.Join(s.dir, "auth.yaml"), "tokens:\n"+entry)
	pki := issue(t, "q1", "replica")
	for _, path := range []string{auth, pki, pki + "/ca.crt", pki + "/q1.crt", pki + "/q1.key"} {
		if err := os.Chown(path, int(s.user), int(s.user)); err != nil {
			t.Fatal(err)
		}
	}
	s.flags = append(s.flags,
		"--auth-mode=required", "--auth-file="+auth, "--etcd-embedded-tls-ca="+pki+"/ca.crt",
		"--etcd-embedded-tls-cert="+pki+"/q1.crt", "--etcd-embedded-tls-key="+pki+"/q1.key",
		"--worker-refs-files=/run/secrets/*,"+s.dir+"/jobs-secrets/**", "--worker-refs-env=ROTA_SECRET_*,PGPASSWORD",
		"--worker-http-allow=127.0.0.1/32")
	return s
}

// issue makes an authority with one certificate, and returns their directory.
func issue(t *testing.T, name, role string) (dir string) {
	t.Helper()
	dir = newDir(t, 0)
	rota(t, "pki", "init", "--dir", dir)
	rota(t, "pki", "issue", name, "--role", role, "--dir", dir)
	return dir
}

// rota runs the present rota and returns its output.
func rota(t *testing.T, args ...string) string {
	t.Helper()
	out, err := as(t, 0, append([]string{presentRota}, args...)...)
	if err != nil {
		t.Fatalf("rota %v: %v\n%s", args, err, out)
	}
	return out
}
