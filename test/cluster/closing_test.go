package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/test/files"
)

// use makes an authority that of all processes and clients.
func (c *closing) use(ca string) { c.copy(ca, "ca.crt") }

// present gives every process and client the certificate of an authority.
func (c *closing) present(authority string) {
	for _, name := range []string{"q1", "q2", "q3", "w1", "client", "ops"} {
		c.copy(authority+"/"+name+".key", name+".key")
		c.copy(authority+"/"+name+".crt", name+".crt")
	}
}

// bundle writes both authorities into one file.
func (c *closing) bundle() {
	c.t.Helper()
	var both []byte
	for _, ca := range []string{"old/ca.crt", "new/ca.crt"} {
		text, err := os.ReadFile(filepath.Join(c.dir, ca))
		if err != nil {
			c.t.Fatal(err)
		}
		both = append(both, text...)
	}
	files.Write(c.t, filepath.Join(c.dir, "both.crt"), both)
}

// issue makes an authority, and certificates of all processes and clients.
func (c *closing) issue(authority string) {
	c.t.Helper()
	dir := filepath.Join(c.dir, authority)
	run := func(args ...string) {
		if out, code := Command(c.t, binary, append(append([]string{"pki"}, args...), "--dir", dir)...); code != 0 {
			c.t.Fatalf("rota pki %s: %s", strings.Join(args, " "), out)
		}
	}
	run("init", "--cluster", "prod")
	for _, name := range []string{"q1", "q2", "q3"} {
		run("issue", name, "--role", "replica")
	}
	run("issue", "w1", "--role", "worker")
	run("issue", "client", "--role", "worker") // the recorder of the test
	run("issue", "ops", "--role", "user")
}

// copy replaces a file in one step.
func (c *closing) copy(from, to string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, from))
	if err != nil {
		c.t.Fatal(err)
	}
	path := filepath.Join(c.dir, to)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		c.t.Fatal(err)
	}
}

// client returns a client of the API that shows the certificate of ops.
func (c *closing) client(url string) *client.Client {
	c.t.Helper()
	cl, err := client.New(client.Config{Servers: url, Timeout: 3 * time.Second, Transport: &http.Transport{
		IdleConnTimeout: time.Second, TLSClientConfig: c.tls("ops"), DisableKeepAlives: true,
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// tls returns the configuration of a client with a certificate. It trusts every authority of the test.
func (c *closing) tls(name string) *tls.Config {
	c.t.Helper()
	roots := x509.NewCertPool()
	for _, ca := range []string{"old/ca.crt", "new/ca.crt"} {
		if text, err := os.ReadFile(filepath.Join(c.dir, ca)); err == nil {
			roots.AppendCertsFromPEM(text)
		}
	}
	return &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, name+".crt"), filepath.Join(c.dir, name+".key"))
			return &pair, err
		},
	}
}

// watch makes the recorder continue over connections of a scheme.
func (c *closing) watch(scheme string) {
	c.t.Helper()
	past := c.Recorder
	past.Sync()
	past.end()
	certificates := ""
	if scheme == "https" {
		certificates = c.dir
	}
	endpoints := slices.Clone(c.Endpoints())
	for i, e := range endpoints {
		endpoints[i] = strings.Replace(e, "http://", scheme+"://", 1)
	}
	c.Recorder = resume(c.t, Prefix, endpoints, past.Versions(), past.Rev(), certificates)
}

// answers checks whether the API of each replica answers over a scheme. A server that needs TLS refuses plain requests with 400.
func (c *closing) answers(scheme string, want bool) {
	c.t.Helper()
	for _, n := range c.replicas {
		_, at, _ := strings.Cut(n.URL, "://")
		if text, ready, err := c.client(scheme + "://" + at).Ready(c.t.Context()); ready != want {
			c.t.Errorf("%s over %s: got ready %t, %v: %s; want %t", n.Name, scheme, ready, err, text, want)
		}
	}
}

// optional checks whether the cluster says that the TLS of each replica is optional, and that of the worker is not.
func (c *closing) optional(want bool) {
	c.t.Helper()
	v, err := c.replicas[0].Client.Cluster(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	var open, names []string
	for _, i := range v.Attention {
		if i.Kind == attention.TLSOptional {
			open = append(open, i.Node)
		}
	}
	if want {
		for _, n := range c.replicas {
			names = append(names, n.Name)
		}
	}
	if !slices.Equal(open, names) {
		c.t.Errorf("processes whose TLS is said to be optional: got %q, want %q", open, names)
	}
}

// refusesUsers checks that the certificate of a user does not open etcd, and that of a process does.
func (c *closing) refusesUsers() {
	c.t.Helper()
	for _, n := range c.replicas {
		for _, arg := range n.Args {
			url, ok := strings.CutPrefix(arg, "--etcd-embedded-client=https://")
			if peer, isPeer := strings.CutPrefix(arg, "--etcd-embedded-peer=https://"); isPeer {
				url, ok = peer, true
			}
			if !ok {
				continue
			}
			for name, admitted := range map[string]bool{"ops": false, "client": true} {
				conn, err := tls.Dial("tcp", url, c.tls(name))
				if err == nil {
					_, err = conn.Write([]byte("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"))
				}
				if err == nil { // in TLS 1.3, a client learns of its refusal when it reads
					_, err = conn.Read(make([]byte, 1))
				}
				if (err == nil) != admitted {
					c.t.Errorf("%s at etcd's %s: %v", name, url, err)
				}
			}
		}
	}
}
