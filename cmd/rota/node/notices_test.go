package node

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// ears is a webhook that records its messages. On request, it hangs.
type ears struct {
	url   string // URL for a notifier
	hangs atomic.Bool

	mu   sync.Mutex
	told []string // guarded by mu: messages that got an answer
	hung int      // guarded by mu: number of messages that got no answer
}

func listen(t *testing.T) *ears {
	t.Helper()
	e := &ears{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		hangs := e.hangs.Load()
		e.mu.Lock()
		if hangs {
			e.hung++
		} else {
			e.told = append(e.told, string(text))
		}
		e.mu.Unlock()
		if hangs {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	e.url = "generic+" + server.URL + "/hook"
	return e
}

func (e *ears) heard() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.told...)
}

// titles returns the first line of each message.
func (e *ears) titles() (titles []string) {
	for _, text := range e.heard() {
		title, _, _ := strings.Cut(text, "\n")
		titles = append(titles, strings.TrimPrefix(title, "rota: "))
	}
	return titles
}

// hears waits until e has exactly the messages want.
func (e *ears) hears(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, "it is told "+strings.Join(want, ", "), func() bool { return len(e.heard()) >= len(want) })
	if got := strings.Join(e.titles(), "\n"); got != strings.Join(want, "\n") {
		t.Fatalf("was told:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

func (e *ears) everything() job.Notify { return job.Notify{"ops": {URL: e.url}} }

// switched returns a job that succeeds as long as the file at path exists, and fails otherwise.
func switched(t *testing.T, to job.Notify) (spec job.Spec, path string) {
	path = filepath.Join(t.TempDir(), "good")
	return job.Spec{Shell: "echo how it went; test -e " + path, Notify: to}, path
}

func TestFailureAndRecoveryAreNotified(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	ops, pager := listen(t), listen(t)
	spec, good := switched(t, job.Notify{"ops": {URL: ops.url}, "pager": {
		URL: pager.url, When: []job.Occasion{job.OnRecovery}, Template: "{{ .Title }}: {{ .Occasion }} after {{ .Failures }} failures",
	}})
	r.put(t, "a", spec)
	quiet := spec
	quiet.Notify = nil
	r.put(t, "quiet", quiet)
	r.ends(t, r.submit(t, "quiet", api.RunRequest{}).Ref, job.Failed)

	first := r.ends(t, r.submit(t, "a", api.RunRequest{}).Ref, job.Failed)
	ops.hears(t, "job a failed")
	if text := ops.heard()[0]; !strings.Contains(text, "run: "+first.Ref) || !strings.Contains(text, "exit") || !strings.Contains(text, "output ends with:\nhow it went") {
		t.Errorf("the message is:\n%s", text)
	}
	r.ends(t, r.submit(t, "a", api.RunRequest{}).Ref, job.Failed) // the same cause: nobody hears of it again
	files.Replace(t, good, "")
	for range 2 {
		r.ends(t, r.submit(t, "a", api.RunRequest{}).Ref, job.Succeeded)
	}
	if err := os.Remove(good); err != nil {
		t.Fatal(err)
	}
	r.ends(t, r.submit(t, "a", api.RunRequest{}).Ref, job.Failed)
	ops.hears(t, "job a failed", "job a succeeds again", "job a failed")
	pager.hears(t, "job a succeeds again: recovery after 2 failures")
	eventually(t, "three notices are counted", func() bool {
		return r.metric(t, `rota_notifications_total{notifier="ops",outcome="sent"}`) == 3
	})
	r.sound(t)
}

// TestTheNextLeaderSendsTheRest ends a leader before it has sent all notices. The next leader sends the remaining notices, and
// none of them twice.
func TestTheNextLeaderSendsTheRest(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	ops := listen(t)
	spec, _ := switched(t, ops.everything())

	q1 := start(t, Config{Settings: outside(t, "q1", endpoint), Version: version})
	q1.lead(t)
	q1.put(t, "a", spec)
	q1.put(t, "b", spec)
	q1.put(t, "tick", job.Spec{Shell: "true", Every: job.Duration(time.Second), Missed: job.MissedNone, Notify: ops.everything()})
	q1.ends(t, q1.submit(t, "a", api.RunRequest{}).Ref, job.Failed)
	ops.hears(t, "job a failed")
	eventually(t, "that is written down", func() bool { return q1.node.mirror.NotifyState("a") != nil })
	ops.hangs.Store(true)
	q1.ends(t, q1.submit(t, "b", api.RunRequest{}).Ref, job.Failed)
	eventually(t, "it is about to be told", func() bool { ops.mu.Lock(); defer ops.mu.Unlock(); return ops.hung > 0 })
	if err := q1.end(); err != nil {
		t.Fatal(err)
	}
	ops.hangs.Store(false)
	stopped := time.Now()
	eventually(t, "a slot has passed", func() bool { return time.Since(stopped) > 2500*time.Millisecond })

	q2 := start(t, Config{Settings: outside(t, "q2", endpoint), Version: version})
	q2.lead(t)
	eventually(t, "the rest is told", func() bool { return len(ops.heard()) >= 3 })
	var failed, missed int
	for _, title := range ops.titles()[1:] {
		switch {
		case title == "job b failed":
			failed++
		case strings.HasPrefix(title, "job tick missed "):
			missed++
		}
	}
	if failed != 1 || missed == 0 {
		t.Errorf("got %q, want one failure of b, and missed slots", ops.titles())
	}
	q2.sound(t)
}

// TestANotifierThatIsRefused checks that the status names it with the cause and without the secret of its URL, until a message arrives.
func TestANotifierThatIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	const secret = "hunter2"
	var refuses atomic.Bool
	refuses.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			http.Error(w, "gone away", http.StatusGone)
		}
	}))
	t.Cleanup(server.Close)
	spec, _ := switched(t, job.Notify{"ops": {URL: "generic+" + server.URL + "/hook?@Authorization=" + secret}})
	r.put(t, "a", spec)
	r.ends(t, r.submit(t, "a", api.RunRequest{}).Ref, job.Failed)
	troubles := func() []attention.Item {
		v, err := r.Cluster(t.Context())
		if err != nil {
			t.Error(err)
		}
		return slices.DeleteFunc(v.Attention, func(i attention.Item) bool { return i.Kind != attention.Notifier })
	}
	eventually(t, "the status names it", func() bool { return len(troubles()) == 1 })
	if i := troubles()[0]; i.Node != "q1" || !strings.Contains(i.Text, "ops") || !strings.Contains(i.Text, "410") || strings.Contains(i.Text, secret) {
		t.Errorf("got %+v", i)
	}
	refuses.Store(false)
	eventually(t, "a message arrives", func() bool { return len(troubles()) == 0 })
	r.sound(t)
}

// TestANotifierThatHangs checks that a hanging notifier delays neither runs nor other notifiers.
func TestANotifierThatHangs(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	dead, ops := listen(t), listen(t)
	dead.hangs.Store(true)
	spec, _ := switched(t, job.Notify{"dead": {URL: dead.url}, "ops": {URL: ops.url}})
	spec.Every = job.Duration(time.Second)
	r.put(t, "a", spec)
	r.put(t, "b", job.Spec{Shell: "true", Every: job.Duration(time.Second)})
	ops.hears(t, "job a failed")
	eventually(t, "it hangs", func() bool { dead.mu.Lock(); defer dead.mu.Unlock(); return dead.hung > 0 })
	before := r.metric(t, "rota_attempts_claimed_total")
	r.put(t, "c", spec)
	r.put(t, "d", spec)
	eventually(t, "runs go on, and are reported", func() bool {
		return r.metric(t, "rota_attempts_claimed_total") >= before+6 && len(ops.heard()) >= 3
	})
	if late := r.metric(t, "rota_dispatch_behind_seconds"); late > 1 {
		t.Errorf("the leader is %v s behind", late)
	}
	if len(dead.heard()) != 0 {
		t.Error("the fault did not bite")
	}
	// The next leader does not send the messages to ops again, and sends all of them to dead.
	var m *job.NotifyState
	eventually(t, "what ops has got is written down", func() bool { m = r.node.mirror.NotifyState("a"); return m != nil && m.Ahead["ops"] > 0 })
	if _, told := m.Ahead["dead"]; told || m.UpTo != 0 {
		t.Errorf("written down: %+v", m)
	}
	r.sound(t)
}

func TestNotifiersOfTheAPI(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	for text, want := range map[string]string{
		`{"shell":"true","notify":["ops"]}`:                      "give definitions, such as",
		`{"shell":"true","notify":{"ops":{}}}`:                   "url",
		`{"shell":"true","notify":{"ops":{"url":"slak://x@y"}}}`: "did you mean slack?",
	} {
		status, answer := ask(t, http.MethodPut, r.Servers()[0]+"/v1/jobs/a", text, "")
		if status/100 != 4 || !strings.Contains(answer, want) {
			t.Errorf("%s: got %d %s, want %q", text, status, answer, want)
		}
		t.Logf("%s: %s", text, answer)
	}
	var v api.JobView
	spec := job.Spec{Shell: "true", Notify: job.Notify{"ops": {URL: "ntfy://${env:NTFY}/x"}}}
	v = r.put(t, "a", spec)
	text, err := json.Marshal(v.Spec.Notify)
	if err != nil || string(text) != `{"ops":{"url":"ntfy://${env:NTFY}/x","when":["failure","recovery","missed","lost"]}}` {
		t.Errorf("got %s (%v)", text, err)
	}
}
