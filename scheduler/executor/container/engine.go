package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// callTimeout bounds each call of the engine except those that wait for a container, follow its output or pull an image.
const callTimeout = 30 * time.Second

// newestAPI is the newest version of the engine's API that this package uses, 1.minor. It is the oldest that Docker 29 serves.
const newestAPI = 44

// engine calls the HTTP API of Docker's engine.
type engine struct {
	socket string
	client *http.Client

	mu     sync.Mutex
	prefix string // guarded by mu: the version in paths, such as /v1.44; "": not known yet
}

func newEngine(socket string) *engine {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: callTimeout}).DialContext(ctx, "unix", socket)
	}
	return &engine{socket: socket, client: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// apiError is an answer of the engine that refuses a call.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

func hasStatus(err error, status int) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.status == status
}

// refused reports whether the engine itself answered with err. Otherwise it may be gone, and the call may have had an effect.
func refused(err error) bool {
	_, ok := errors.AsType[*apiError](err)
	return ok
}

// unsure returns err without its status if it is an error of the engine (5xx), so that patiently calls again. It is for questions
// about a container whose work may be done. 501 is definite: the engine has no such call.
func unsure(err error) error {
	e, ok := errors.AsType[*apiError](err)
	if ok && e.status >= http.StatusInternalServerError && e.status != http.StatusNotImplemented {
		return errors.New(err.Error())
	}
	return err
}

// version returns the version of the API for paths: the newest one that both sides know.
func (e *engine) version(ctx context.Context) (string, error) {
	e.mu.Lock()
	known := e.prefix
	e.mu.Unlock()
	if known != "" {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := e.send(ctx, http.MethodGet, "/_ping", nil, "")
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	minor, err := strconv.Atoi(strings.TrimPrefix(resp.Header.Get("Api-Version"), "1."))
	if err != nil {
		return "", fmt.Errorf("%s is not Docker's engine: it has the API version %q", e.socket, resp.Header.Get("Api-Version"))
	}
	known = "/v1." + strconv.Itoa(min(minor, newestAPI))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.prefix = known
	return known, nil
}

// open sends a call and returns the answer, which the caller closes. An engine of another version, which has taken the place of the
// one before, refuses the path with 400. Then open asks for its version and sends the call again.
func (e *engine) open(
	ctx context.Context, method, path string, query url.Values, body []byte, kind string,
) (*http.Response, error) {
	version, err := e.version(ctx)
	if err != nil {
		return nil, err
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	resp, err := e.send(ctx, method, version+path, body, kind)
	if hasStatus(err, http.StatusBadRequest) {
		e.forget(version)
		if other, failed := e.version(ctx); failed == nil && other != version {
			return e.send(ctx, method, other+path, body, kind)
		}
	}
	return resp, err
}

// forget forgets the version of the API.
func (e *engine) forget(version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.prefix == version {
		e.prefix = ""
	}
}

func (e *engine) send(ctx context.Context, method, path string, body []byte, kind string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://docker"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, fmt.Errorf("ask Docker's engine at %s: %w", e.socket, err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var problem struct{ Message string }
	if json.Unmarshal(text, &problem) != nil || problem.Message == "" {
		problem.Message = fmt.Sprintf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return nil, &apiError{status: resp.StatusCode, text: problem.Message}
}

// call sends a short call with in as JSON, and reads the answer into out. nil: nothing to send, or nothing to read.
func (e *engine) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body []byte
	kind := ""
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body, kind = text, "application/json"
	}
	resp, err := e.open(ctx, method, path, query, body, kind)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("read answer of Docker's engine: %w", err)
	}
	return nil
}
