package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// callTimeout bounds one request.
const callTimeout = 10 * time.Second

// maxAnswer is the largest number of bytes of an answer that is read.
const maxAnswer = 4 << 20

// Client calls an API server. It is safe for concurrent use.
type Client struct {
	Namespace string // of this pod, or of the context of the kubeconfig file

	servers   []string     // tried in turn
	first     atomic.Int32 // the server that answered last
	token     string       // "": see tokenFile
	tokenFile string       // which is replaced from time to time; "": no token
	http      *http.Client
}

func newClient(namespace string, servers []string, secured *tls.Config) *Client {
	return &Client{
		Namespace: namespace, servers: servers,
		http: &http.Client{Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
			TLSClientConfig:     secured,
			TLSHandshakeTimeout: callTimeout,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     time.Minute,
		}},
	}
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

// ErrTooLarge is wrapped by the error of Call for an answer that is too large to be read. A smaller page may not be.
var ErrTooLarge = fmt.Errorf("it is larger than %d MiB", maxAnswer>>20)

// Call sends in as JSON, unless it is nil, and reads the answer into out, unless that is nil. The body of a PATCH is a merge patch.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout*time.Duration(len(c.servers)))
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	resp, err := c.send(ctx, method, path, body, callTimeout)
	if err != nil {
		return err
	}
	defer resp.Close()
	text, err := io.ReadAll(io.LimitReader(resp, maxAnswer+1))
	switch {
	case err == nil && len(text) > maxAnswer:
		err = ErrTooLarge
	case err == nil && out != nil:
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// Stream returns the answer to a GET, which ends when the server ends it or when ctx ends. The caller closes it.
func (c *Client) Stream(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.send(ctx, http.MethodGet, path, nil, 0)
}

// send tries the servers in turn, beginning with the one that answered last. timeout bounds each try up to its answer; 0: only ctx
// does.
func (c *Client) send(ctx context.Context, method, path string, body []byte, timeout time.Duration) (io.ReadCloser, error) {
	var errs []error
	first := int(c.first.Load())
	for i := range c.servers {
		at := (first + i) % len(c.servers)
		answer, err := c.request(ctx, method, c.servers[at]+path, body, timeout)
		var status *StatusError
		if err == nil || errors.As(err, &status) {
			c.first.Store(int32(at))
			return answer, err
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%s %s: %w", method, path, errors.Join(errs...))
}

// answer is the body of an answer, with the context of its request.
type answer struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (a answer) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}

func (c *Client) request(ctx context.Context, method, url string, body []byte, timeout time.Duration) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	if timeout > 0 {
		defer time.AfterFunc(timeout, cancel).Stop()
	}
	resp, err := c.do(ctx, method, url, body)
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return answer{resp.Body, cancel}, nil
	}
	defer cancel()
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // without a text, the code says enough
	var status struct{ Kind, Message string }
	_ = json.Unmarshal(text, &status) // a proxy in between may answer with other text
	if resp.StatusCode == http.StatusNotFound && status.Kind != "Status" {
		return nil, errors.New("the answer 404 is not from an API server") // which would say that an object does not exist
	}
	return nil, &StatusError{Code: resp.StatusCode, Message: status.Message}
}

func (c *Client) do(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	token := c.token
	if c.tokenFile != "" {
		text, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token for the API server: %w", err)
		}
		if token = strings.TrimSpace(string(text)); token == "" { // without a token the server would take the client for a stranger
			return nil, fmt.Errorf("read the token for the API server: %s is empty", c.tokenFile)
		}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	return c.http.Do(req)
}
