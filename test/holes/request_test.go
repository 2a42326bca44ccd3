package holes

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
)

// stranger sends requests without a certificate, each on a connection of its own.
var stranger = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}

// ask sends a request of the attacker, with its token, and returns the status and the body. The status is 0 if there is no answer.
// header has names, each with its value behind it.
func (v *server) ask(method, path, body string, header ...string) (status int, answer string) {
	v.t.Helper()
	return v.askAt(stranger, v.url, method, path, body, header...)
}

func (v *server) askAt(client *http.Client, url, method, path, body string, header ...string) (status int, answer string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, url+path, strings.NewReader(body))
	v.must(err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}

// run is the part of a run that the attacks need.
type run struct {
	Ref    string `json:"run"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// submit sends a submission. It returns the run of an accepted one when that has ended, with its output.
func (v *server) submit(path, body string, header ...string) (r run, output string, ok bool) {
	v.t.Helper()
	status, answer := v.ask(http.MethodPost, path, body, header...)
	if status != http.StatusCreated {
		return run{Reason: fmt.Sprintf("%d %.200s", status, answer)}, "", false
	}
	v.must(json.Unmarshal([]byte(answer), &r))
	r = v.await(r.Ref)
	_, output = v.ask(http.MethodGet, "/v1/runs/"+r.Ref+"/logs", "")
	return r, output, true
}

// await waits for the end of a run.
func (v *server) await(ref string) (r run) {
	v.t.Helper()
	cluster.Await(v.t, 20*time.Second, "run "+ref+" of "+v.version+" has ended", func() bool {
		_, answer := v.ask(http.MethodGet, "/v1/runs/"+ref, "")
		if json.Unmarshal([]byte(answer), &r) != nil {
			return false
		}
		switch r.State {
		case "succeeded", "failed", "timed_out", "canceled", "lost", "skipped":
			return true
		}
		return false
	})
	return r
}

// define defines a job and reports whether the server accepted it.
func (v *server) define(name, spec string, header ...string) (answer string, ok bool) {
	v.t.Helper()
	status, answer := v.ask(http.MethodPut, "/v1/jobs/"+name, spec, header...)
	return fmt.Sprintf("%d %.300s", status, answer), status == http.StatusOK || status == http.StatusCreated
}

// runJob defines a job and runs it to its end. detail says what happened.
func (v *server) runJob(name, spec string) (output, detail string) {
	v.t.Helper()
	answer, ok := v.define(name, spec)
	if !ok {
		return "", "the definition: " + answer
	}
	r, output, _ := v.submit("/v1/jobs/"+name+"/runs", "{}")
	return output, fmt.Sprintf("the run: %s %s", r.State, r.Reason)
}

// inbox is a server of the attacker. It also plays the metadata service of a cloud.
type inbox struct {
	url string // at an address of the machine that is not loopback

	mu  sync.Mutex
	got strings.Builder // guarded by mu: paths, headers and bodies of all requests
}

// theInbox belongs to all tests.
var theInbox = &inbox{}

// open makes the inbox listen until the process ends.
func (in *inbox) open() error {
	for _, addr := range []string{metadataAddress + ":80", ownAddress + ":0"} {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		in.url = "http://" + ln.Addr().String()
		go http.Serve(ln, in) //nolint:gosec // ends with the tests
	}
	return nil
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a part of it is evidence as well
	in.mu.Lock()
	fmt.Fprintf(&in.got, "%s %s %s\n", r.URL, r.Header.Get("Authorization"), body)
	in.mu.Unlock()
	_, _ = io.WriteString(w, secretMetadata)
}

// received reports whether a text has arrived.
func (in *inbox) received(text string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return strings.Contains(in.got.String(), text)
}
