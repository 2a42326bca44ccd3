package kubeapi

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Account is the directory in which Kubernetes mounts the account of a pod.
const Account = "/var/run/secrets/kubernetes.io/serviceaccount"

// serverName is a name that the certificate of every API server has, whichever address it is called at.
const serverName = "kubernetes.default.svc"

// InCluster returns a client for the pod whose account is mounted at dir. It calls the address that Kubernetes gives to every pod
// in getenv. If that does not answer, it calls more, which are URLs.
func InCluster(dir string, getenv func(string) string, more []string) (*Client, error) {
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil {
		return nil, fmt.Errorf("read the account of this pod: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the account of this pod: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read the account of this pod: %s has no certificate", filepath.Join(dir, "ca.crt"))
	}
	var servers []string
	if host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		servers = append(servers, "https://"+net.JoinHostPort(host, port))
	}
	servers = append(servers, more...)
	if len(servers) == 0 {
		return nil, errors.New("KUBERNETES_SERVICE_HOST is not set: this process does not run in a pod")
	}
	c := newClient(strings.TrimSpace(string(namespace)), servers, &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: serverName,
	})
	c.tokenFile = filepath.Join(dir, "token")
	return c, nil
}
