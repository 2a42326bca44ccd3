package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

const (
	hookKey      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherHookKey = "whsec_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// TestHooks sends one delivery twenty times through three replicas while the leader dies: it makes one run. Deliveries with a
// mistake are refused, each with its own answer, and leave nothing in the store. The secret is nowhere in it.
func TestHooks(t *testing.T) {
	row(t)
	t.Parallel()
	sink, secrets := NewSink(t), t.TempDir()
	files.Write(t, filepath.Join(secrets, "hook"), hookKey+"\n")
	c := Start(t, Config{
		Binary: binary,
		Flags:  func(string) []string { return []string{"--hooks-refs-files=" + secrets + "/*"} },
		Jobs: map[string]job.Spec{
			"report": {
				HTTP:   &job.HTTP{URL: sink.URL() + "/{{ .Params.env }}", Method: "POST"},
				Params: map[string]job.Param{"env": {Enum: []string{"stage", "prod"}, Required: true}},
				Hooks: job.Hooks{
					"deployed": {Secret: "${file:" + secrets + "/hook}", Param: map[string]string{"env": "{{ .Body.environment }}"}},
					"lost":     {Secret: "${file:" + secrets + "/none}", Param: map[string]string{"env": "prod"}},
					"outside":  {Secret: "${file:/etc/hostname}", Param: map[string]string{"env": "prod"}},
				},
			},
			"tick": {HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}, Every: job.Duration(time.Second)},
		},
	})
	const body = `{"environment": "prod"}`
	refuseDeliveries(t, c, body)

	var (
		first    = c.Leader()
		answered atomic.Int32
		broken   atomic.Int32 // tries that got no answer
		created  atomic.Int32
		mu       sync.Mutex
		runs     = map[string]int{} // guarded by mu: answers by run
		wg       sync.WaitGroup
	)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	dead := make(chan struct{})
	for i := range 20 {
		wg.Go(func() {
			if i >= 8 {
				<-dead
			}
			for n := i; ctx.Err() == nil; n++ {
				status, text := deliver(ctx, c.Replicas()[n%3].URL+"/v1/hooks/deployed", sign(t, hookKey, "msg_1", time.Now(), body), body)
				switch {
				case status == http.StatusOK || status == http.StatusCreated:
					var v api.DeliveryView
					if err := json.Unmarshal([]byte(text), &v); err != nil {
						t.Error(err)
					}
					mu.Lock()
					runs[v.Ref]++
					mu.Unlock()
					if status == http.StatusCreated {
						created.Add(1)
					}
					answered.Add(1)
					return
				case status == 0 || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
					broken.Add(1)
				default:
					t.Errorf("the delivery is refused: %d %s", status, text)
					return
				}
			}
		})
	}
	Await(t, 20*time.Second, "the first deliveries are answered", func() bool { return answered.Load() >= 4 })
	first.Kill()
	close(dead)
	wg.Wait()
	if broken.Load() == 0 {
		t.Error("every delivery was answered at once: the fault took no effect")
	}
	if n := answered.Load(); n != 20 || len(runs) != 1 || created.Load() > 1 {
		t.Errorf("%d of 20 deliveries have an answer, %d say that they made a run: %v", n, created.Load(), runs)
	}
	if next := c.Leader(); next == first {
		t.Errorf("%s leads again: the fault took no effect", first.Name)
	}
	first.Start()
	c.WaitReady()
	c.Check(sink.Requests, nil, nil)

	found := c.Recorder.Runs("report")
	for _, r := range found {
		if runs[r.Name()] != 20 || r.State != job.Succeeded || r.Key != "hook/deployed/msg_1" || !strings.HasPrefix(r.By, "hook/deployed from 127.0.0.1") ||
			r.ParamsText() != "env=prod" {
			t.Errorf("run %s: %s, key %s, by %s, %s", r.Name(), r.State, r.Key, r.By, r.ParamsText())
		}
	}
	if len(found) != 1 {
		t.Errorf("the delivery has %d runs, want one", len(found))
	}
	out, code := Command(t, binary, "audit", "report", "--by=hook/deployed", "-o=json", "--server="+c.Replicas()[0].URL)
	var trail api.AuditList
	if err := json.Unmarshal([]byte(out), &trail); code != 0 || err != nil || len(trail.Records) != 1 || trail.Records[0].How != "signature" ||
		trail.Records[0].Verb != job.VerbDeliverHook {
		t.Errorf("rota audit: code %d, %v\n%s", code, err, out)
	}
	resp, err := Dial(t, c.Endpoints()).Get(t.Context(), "/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		if bytes.Contains(kv.Value, []byte(hookKey[6:])) {
			t.Errorf("%s contains the secret", kv.Key)
		}
	}
}

// refuseDeliveries sends deliveries with mistakes to each replica. Each is refused with its own answer, and none leaves a record.
func refuseDeliveries(t *testing.T, c *Cluster, body string) {
	t.Helper()
	large := `{"environment": "prod", "x": "` + strings.Repeat("x", api.MaxBody) + `"}`
	old := time.Now().Add(-6 * time.Minute)
	answers := map[string]string{}
	for _, n := range c.Replicas() {
		for name, d := range map[string]struct {
			hook, body string
			header     http.Header
			status     int
			detail     string
		}{
			"a wrong signature": {"deployed", body, sign(t, otherHookKey, "bad_1", time.Now(), body), 401, "the signature is wrong"},
			"an old timestamp":  {"deployed", body, sign(t, hookKey, "bad_2", old, body), 403, "5m0s are accepted"},
			"a bad parameter": {
				"deployed", `{"environment":"test"}`, sign(t, hookKey, "bad_3", time.Now(), `{"environment":"test"}`), 422, "parameter env must be one of stage, prod",
			},
			"no parameter":    {"deployed", "{}", sign(t, hookKey, "bad_4", time.Now(), "{}"), 422, `parameter env: `},
			"no signature":    {"deployed", body, http.Header{}, 400, "webhook-id is missing"},
			"an unknown hook": {"deploed", body, sign(t, hookKey, "bad_5", time.Now(), body), 404, "there is no hook"},
			"a large body":    {"deployed", large, sign(t, hookKey, "bad_6", time.Now(), large), 413, "1048576"},
			"no secret":       {"lost", body, sign(t, hookKey, "bad_7", time.Now(), body), 503, "its log has the cause"},
			"a secret that is not allowed": {
				"outside", body, sign(t, hookKey, "bad_8", time.Now(), body), 503, "its log has the cause",
			},
		} {
			status, text := deliver(t.Context(), n.URL+"/v1/hooks/"+d.hook, d.header, d.body)
			if status != d.status || !strings.Contains(text, d.detail) {
				t.Errorf("%s on %s: got %d %s, want %d with %q", name, n.Name, status, text, d.status, d.detail)
			}
			answers[fmt.Sprint(status, d.detail)] = name
		}
	}
	if len(answers) != 8 { // the two mistakes about secrets look the same to a sender
		t.Errorf("the answers are not distinct: %v", answers)
	}
	resp, err := Dial(t, c.Endpoints()).Get(t.Context(), Prefix+"/audit/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		if bytes.Contains(kv.Value, []byte("hook/")) {
			t.Errorf("a refused delivery has an audit record: %s", kv.Value)
		}
	}
	c.Recorder.Sync()
	if runs := c.Recorder.Runs("report"); len(runs) > 0 {
		t.Errorf("refused deliveries made the runs %v", runs)
	}
	if c.Replicas()[0].Metric(`rota_hook_deliveries_total{result="signature"}`) != 1 {
		t.Error("a wrong signature is not counted")
	}
}

func sign(t *testing.T, key, id string, at time.Time, body string) http.Header {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(key)
	if err != nil {
		t.Error(err)
		return nil
	}
	signature, err := hook.Sign(id, at, []byte(body))
	if err != nil {
		t.Error(err)
	}
	h := http.Header{}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("Webhook-Signature", signature)
	return h
}

// deliver sends a delivery, and returns the answer; status 0 without one.
func deliver(ctx context.Context, url string, header http.Header, body string) (status int, text string) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header = header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}
