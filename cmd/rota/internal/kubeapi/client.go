package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Account is the directory in which Kubernetes mounts the account of a pod.
const Account = "/var/run/secrets/kubernetes.io/serviceaccount"

// serverName is a name that the certificate of every API server has, whichever address it is called at.
const serverName = "kubernetes.default.svc"

// callTimeout bounds one request.
const callTimeout = 10 * time.Second

// maxAnswer is the largest number of bytes of an answer that is read.
const maxAnswer = 4 << 20

// Client calls an API server with the account of this pod.
type Client struct {
	Namespace string // of this pod

	servers []string // tried in turn
	token   string   // file, which Kubernetes replaces from time to time
	http    *http.Client
}

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
	c := &Client{
		Namespace: strings.TrimSpace(string(namespace)), token: filepath.Join(dir, "token"),
		http: &http.Client{Transport: &http.Transport{
			DialContext:     (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: serverName},
		}},
	}
	if host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		c.servers = append(c.servers, "https://"+net.JoinHostPort(host, port))
	}
	c.servers = append(c.servers, more...)
	if len(c.servers) == 0 {
		return nil, errors.New("KUBERNETES_SERVICE_HOST is not set: this process does not run in a pod")
	}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer of the API server other than success.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the API server answers %d: %s", e.Code, e.Message)
}

// Is makes errors.Is work with ErrNotFound and ErrConflict.
func (e *StatusError) Is(target error) bool {
	return target == ErrNotFound && e.Code == http.StatusNotFound || target == ErrConflict && e.Code == http.StatusConflict
}

// ErrNotFound and ErrConflict are wrapped by the errors of the status codes 404 and 409.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict")
)

// Call sends in as JSON, unless it is nil, and reads the answer into out, unless that is nil.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	var errs []error
	for i, server := range c.servers {
		err := c.call(ctx, method, server+path, body, out)
		var status *StatusError
		if err == nil || errors.As(err, &status) {
			c.servers[0], c.servers[i] = c.servers[i], c.servers[0]
			return err
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%s %s: %w", method, path, errors.Join(errs...))
}

func (c *Client) call(ctx context.Context, method, url string, body []byte, out any) error {
	token, err := os.ReadFile(c.token)
	if err != nil {
		return fmt.Errorf("read the token of this pod: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		var status struct{ Message string }
		_ = json.Unmarshal(text, &status) // a proxy in between may answer with other text
		return &StatusError{Code: resp.StatusCode, Message: status.Message}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
