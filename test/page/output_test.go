package page

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
)

// feeds lets a test write the output that the page follows.
const feeds = `const real = window.fetch;
window.fetch = (url, ...more) => !String(url).includes('follow=true') ? real(url, ...more) : Promise.resolve(new Response(
	new ReadableStream({start(c) { window.feed = text => c.enqueue(new TextEncoder().encode(text)); window.cut = () => { feed = null; c.close(); }; }})))`

// liveOutput proves that output which arrives in pieces is shown as the output of a finished attempt. TestAnsiHTML has the same cases.
// The output does not end, so the page may withhold nothing.
func liveOutput(t *testing.T, c *cluster.Cluster, base string) {
	v, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	b.first(feeds)
	long := strings.Repeat("x", 4097)
	for _, tc := range []struct{ name, text, want string }{
		{"a color within the end of a line", "50%\r\x1b[0m\nx\r\x1b[31m\r\ny", "50%\nx\ny"},
		{"a line that is erased", "a\r\x1b[K\r1%\r\x1b[m\x0f\nb", "a\n1%\nb"},
		{"several carriage returns", "a\r\r\nb\r", "a\nb\n"},
		{"an empty line stays", "a\r\x1b[m\n\nb\n\x1b[m\nc", "a\n\nb\n\nc"},
		{"a title", "a\x1b]0;title\x07b\x1b]0;title\x1b\\c", "abc"},
		{"a title without an end", "a\x1b]waiting for the lock", "awaiting for the lock"},
		{"a string that is too long is text", "\x1b]" + long + "\x1b\\.", long + "."},
		{"the longest string", "\x1b]" + long[1:] + "\x1b\\.", "."},
		{"too many parameters are text", "\x1b[" + strings.Repeat("1", 201) + "m", strings.Repeat("1", 201) + "m"},
	} {
		for _, size := range []int{len(tc.text), 1 + len(tc.text)/200} {
			b.open(base + "/runs/" + v.Ref)
			b.await(20*time.Second, "the page follows the output", "window.feed")
			b.eval(fmt.Sprintf("for (const piece of %s.match(/[^]{1,%d}/g)) feed(piece); 0", quoted(t, tc.text), size))
			b.await(10*time.Second, fmt.Sprintf("%s, in pieces of %d", tc.name, size),
				"document.querySelector('#output').textContent === "+quoted(t, tc.want))
		}
	}
	b.open(base + "/runs/" + v.Ref)
	b.await(20*time.Second, "the page follows the output", "window.feed")
	b.eval("for (let i = 0; i < 9; i++) feed('x'.repeat(1 << 17)); feed('the end'); 0")
	b.await(10*time.Second, "the page keeps the end of long output", `document.querySelector('#output').textContent.endsWith('the end') &&
		document.querySelector('#output').textContent.length < 1 << 20 && !document.querySelector('#part').hidden`)
	searches(b)
	b.eval("cut(); 0")
	b.await(20*time.Second, "the page follows again after a proxy has ended the stream", "window.feed")
	b.eval("feed('more'); 0")
	b.await(10*time.Second, "the page shows the rest", "document.querySelector('#output').textContent === 'more'")
	if list := b.complained(); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
	if _, err := c.Client.Cancel(t.Context(), v.Ref, ""); err != nil {
		t.Error(err)
	}
}

// searches searches the long output that the page shows, and then letters whose small form is longer.
func searches(b *browser) {
	b.t.Helper()
	b.eval(`window.marked = word => { const field = document.querySelector('#outputsearch'); field.value = word; field.oninput();
		return [...document.querySelectorAll('#output mark')].map(e => e.textContent).join(' '); }; 0`)
	b.await(20*time.Second, "a thousand of many hits are marked", "marked('x').length === 1999")
	b.eval(`feed('\nİİ Straße Word [a-b].c'); 0`)
	b.await(10*time.Second, "the last line is printed", "document.querySelector('#output').textContent.endsWith('.c')")
	for word, want := range map[string]string{"word": "Word", "İ": "İ İ", "ß": "ß", "[A-B].": "[a-b].", "nothing": "", "": ""} {
		if got := b.eval("marked(" + quoted(b.t, word) + ")"); got != want {
			b.t.Errorf("a search for %q marks %q, want %q", word, got, want)
		}
	}
}

// nextAttempt proves that the open page of a run shows the output of its present attempt. It ends the stream of the attempt before,
// also one that has said nothing, because a browser allows few connections to one server.
func nextAttempt(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	ended := filepath.Join(t.TempDir(), "ended")
	spec := job.Spec{
		Shell: "echo this is attempt $ROTA_ATTEMPT; until [ -e " + ended + "$ROTA_ATTEMPT ]; do sleep 0.1; done; exit $((3 - ROTA_ATTEMPT))",
		Retry: &job.Retry{Max: 2, Min: job.Duration(time.Second)},
	}
	if _, _, err := c.Client.PutJob(t.Context(), "again", spec, api.Precondition{}); err != nil {
		t.Fatal(err)
	}
	v, _, err := c.Client.Submit(t.Context(), "again", api.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b.open(base + "/runs/" + v.Ref)
	b.await(20*time.Second, "the output of the first attempt", "document.querySelector('#output').textContent.includes('attempt 1')")
	b.eval(silent)
	for attempt := 2; attempt <= 3; attempt++ {
		files.Write(t, fmt.Sprint(ended, attempt-1), "")
		b.await(20*time.Second, fmt.Sprintf("the page shows attempt %d", attempt), fmt.Sprintf(`window.silent &&
			document.querySelector('[data-live=outputof]').textContent.endsWith('attempt %[1]d') &&
			document.querySelector('[data-live=plain] a').getAttribute('href').endsWith('attempt=%[1]d')`, attempt))
	}
	b.await(20*time.Second, "the output of the third attempt, and the end of the stream of the second",
		"document.querySelector('#output').textContent === 'this is attempt 3\\n' && silent.aborted")
	files.Write(t, ended+"3", "")
	b.await(20*time.Second, "a screen reader says how the run has ended",
		"document.querySelector('[role=status]#said').textContent === 'succeeded'")
	b.printed()
	if got := b.eval("getComputedStyle(document.querySelector('#output')).maxHeight"); got != "none" {
		t.Errorf("a printed page cuts the output at %v", got)
	}
	b.dark(false)
	if got := b.eval("getComputedStyle(document.querySelector('#output')).maxHeight"); got == "none" {
		t.Fatal("the style of printed pages lasts")
	}
}

// silent makes the stream of the second attempt one that says nothing, as if its worker had died. It keeps its signal.
const silent = `{ const real = window.fetch; window.silent = null;
window.fetch = (url, ...more) => !url.includes?.('attempt=2&follow=true') ? real(url, ...more) :
	new Promise(() => { window.silent = more[0]?.signal || {}; }); } 0`

// refusedOnce answers the next request of the page as a proxy without a target does.
const refusedOnce = `{ const real = window.fetch; window.refused = false;
window.fetch = () => { window.fetch = real; window.refused = true; return Promise.resolve(new Response('404 page not found', {status: 404})); } } 0`

// goneJob proves that the open page of a job does not outlive the job, but outlives a 404 of a proxy. It shows a job that appears again.
func goneJob(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	put := func(description string) {
		if _, _, err := c.Client.PutJob(t.Context(), "gone", job.Spec{Shell: "true", Description: description}, api.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	put("begun")
	b.open(base + "/jobs/gone")
	b.await(10*time.Second, "the page is live", "document.querySelector('#live').dataset.state === 'on'")
	b.eval(refusedOnce)
	put("first")
	b.await(20*time.Second, "the page gets a 404 of a proxy", "window.refused")
	put("second")
	b.await(20*time.Second, "the page lives on", "window.refused && document.querySelector('main').textContent.includes('second')")
	if err := c.Client.DeleteJob(t.Context(), "gone", api.Precondition{Exists: true}); err != nil {
		t.Fatal(err)
	}
	b.await(20*time.Second, "the page says that the job is gone", "document.querySelector('.problem')")
	put("third")
	b.await(20*time.Second, "the page shows the job again", "document.querySelector('main').textContent.includes('third')")
}

// quoted returns a string of JavaScript.
func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
