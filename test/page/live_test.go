package page

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// collect keeps, in the open page, the events of the runs of tick after a revision.
const collect = `window.got = []; window.stream = new EventSource('/v1/events?kind=run&job=tick&after=%d');
stream.addEventListener('run', e => { const d = JSON.parse(e.data); got.push(d.revision + ' ' + d.name); });
stream.addEventListener('reset', () => got.push('reset')); 0`

// leaderKilled proves that an open page shows the new leader within two seconds, and that it loses and doubles no event.
func leaderKilled(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	old := c.Leader()
	for _, n := range c.Replicas() {
		if old.URL == base && n != old {
			base = n.URL // the replica of the page lives on
		}
	}
	b.open(base + "/")
	b.await(10*time.Second, "the leader is shown", fmt.Sprintf("document.querySelector('[data-live=leader]').textContent.includes(%q) && document.querySelector('#live').dataset.state === 'on'", old.Name))
	before, err := c.Client.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.eval(fmt.Sprintf(collect, before.Store.Revision))
	b.await(10*time.Second, "events arrive", "got.length > 3")
	old.Kill()
	var elected time.Time
	cluster.Await(t, 30*time.Second, "another replica leads", func() bool {
		for _, n := range c.Replicas() {
			if n != old && n.Leads() {
				elected = time.Now()
				return true
			}
		}
		return false
	})
	b.await(10*time.Second, "the page shows the new leader", fmt.Sprintf("/q[123] leads/.test(document.querySelector('[data-live=leader]').textContent) && !document.querySelector('[data-live=leader]').textContent.includes(%q)", old.Name))
	if took := time.Since(elected); took > 2*time.Second {
		t.Errorf("the page showed the new leader %v after it led, want at most 2 s", took)
	} else {
		t.Logf("the page showed the new leader %v after it led", took.Round(time.Millisecond))
	}
	b.eval("window.then = got.length; 0")
	b.await(20*time.Second, "runs of the new leader arrive", "got.length > then + 10 && document.querySelector('#live').dataset.state === 'on'")
	b.eval("stream.close(); 0")
	seen, _ := b.eval("got").([]any)
	sameEvents(t, c, before.Store.Revision, seen)
}

// sameEvents compares the events that a page has seen with those that another replica sends.
func sameEvents(t *testing.T, c *cluster.Cluster, after int64, seen []any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var want, got []string
	for _, one := range seen {
		got = append(got, fmt.Sprint(one))
	}
	for e, err := range c.Client.Events(ctx, client.EventFilter{After: after, Job: "tick", Kinds: []string{api.KindRun}}) {
		if err != nil {
			if ctx.Err() != nil {
				t.Fatalf("read the events again: %v", err)
			}
			continue
		}
		if want = append(want, fmt.Sprintf("%d %s", e.Revision, e.Name)); len(want) == len(got) {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page lost or doubled events: got %d\n%q\nwant\n%q", len(got), got, want)
	} else {
		t.Logf("the page saw the same %d events as another client", len(got))
	}
}

// shifts sums the layout shifts of the open page that no input caused.
const shifts = `window.shift = 0; window.changes = 0;
new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) shift += e.value; }).observe({type: 'layout-shift'});
new MutationObserver(list => { changes += list.length; }).observe(document.querySelector('main'), {childList: true, subtree: true});
window.frames_ = 0; (function next() { frames_++; requestAnimationFrame(next); })(); 0`

// nothingMoves proves that open pages stay where they are while events arrive.
func nothingMoves(t *testing.T, b *browser, base string) {
	for _, view := range []string{"/", "/jobs", "/jobs/tick", "/runs", "/timeline?span=15m", "/events", "/cluster"} {
		b.open(base + view)
		b.await(10*time.Second, "the page is live", "document.querySelector('#live').dataset.state === 'on'")
		b.eval(shifts)
		b.await(20*time.Second, view+" follows the cluster", "changes > 5")
		b.eval("frames_ = 0")
		b.await(10*time.Second, "the changes are painted", "frames_ > 20")
		moved, _ := b.eval("shift").(float64)
		t.Logf("%s moved by %.4f", view, moved)
		if moved > 0.01 {
			t.Errorf("%s moved by %.4f while events arrived, want at most 0.01", view, moved)
		}
	}
	b.eval("const bar = document.createElement('div'); bar.style.height = '90px'; document.querySelector('main').prepend(bar); 0")
	b.await(5*time.Second, "a bar that moves the page counts as a shift", "shift > 0.01")
}

// focusStays proves that rows which arrive move the focus of the keyboard neither to another row nor away from a button.
func focusStays(t *testing.T, b *browser, base string) {
	b.open(base + "/runs")
	b.await(10*time.Second, "the page is live", "document.querySelector('#live').dataset.state === 'on'")
	b.eval(shifts)
	b.eval(`window.rows = () => [...document.querySelectorAll('.rows tbody tr')];
	window.at = () => rows().findIndex(row => row.contains(document.activeElement));
	window.run = () => rows()[at()]?.querySelector('.when a').getAttribute('href'); 0`)
	for range 4 {
		b.do(chromedp.KeyEvent("j"))
	}
	here, _ := b.eval("changes = 0; window.here = run()").(string)
	for range 5 {
		b.await(20*time.Second, "rows arrive", "changes > 0")
		if got, _ := b.eval("changes = 0; run()").(string); here == "" || got != here {
			t.Fatalf("the focus moved from %s to %q", here, got)
		}
	}
	b.do(chromedp.KeyEvent("j"))
	if next, _ := b.eval("rows()[at() - 1]?.querySelector('.when a').getAttribute('href')").(string); next != here {
		t.Errorf("the next row is below %q, want it below %s", next, here)
	}
	b.eval("document.querySelector('#bulk button').focus(); 0")
	for range 3 {
		b.eval("window.newest = rows()[0].textContent; 0")
		b.await(20*time.Second, "new rows arrive while a button has the focus", "rows()[0].textContent !== newest")
		if got, _ := b.eval("document.activeElement.textContent").(string); got != "Cancel" {
			t.Fatalf("the focus moved from the button to %.40q", got)
		}
	}
}

// withoutStreams proves that a browser without event streams reads an open page again.
func withoutStreams(t *testing.T, base string) {
	b := newBrowser(t)
	b.first("delete window.EventSource")
	b.open(base + "/jobs/tick")
	b.await(5*time.Second, "the page says how it follows", "document.querySelector('#live').textContent.includes('reads again every 5 s')")
	b.eval("window.here = document.querySelector('[data-live=chart]').textContent; 0")
	b.await(20*time.Second, "the page shows later runs", "document.querySelector('[data-live=chart]').textContent !== here")
	if list := b.complained(); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
}

// deaf loses all events of streams while deaf is set, as a network that is gone does.
const deaf = `window.streams = 0;
window.EventSource = class extends EventSource {
	constructor(...all) { super(...all); streams++; }
	addEventListener(kind, listener) { super.addEventListener(kind, e => { if (!window.deaf) listener(e); }); }
}`

// silentStream proves that a page does not count as live if its stream says nothing, and that it connects again. It reads the
// output of a run again after a 404 of a proxy.
func silentStream(t *testing.T, c *cluster.Cluster, base string) {
	b := newBrowser(t)
	b.first(deaf)
	b.first(`{ const real = window.fetch; window.fetch = (url, ...more) => {
		if (!String(url).includes('follow=true')) return real(url, ...more);
		window.fetch = real; return Promise.resolve(new Response('404 page not found', {status: 404})); } }`)
	v, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, 20*time.Second, "the run has begun", func() bool {
		v, err := c.Client.Run(t.Context(), v.Ref)
		return err == nil && v.State == job.Running
	})
	b.open(base + "/runs/" + v.Ref)
	b.await(20*time.Second, "the output is read again", "document.querySelector('#output').textContent.includes('begun')")
	b.eval("window.deaf = true; window.before_ = streams; document.querySelector('#live').dataset.state = ''; 0")
	b.await(60*time.Second, "the page connects again", "streams > before_ && document.querySelector('#live').dataset.state")
	if _, err := c.Client.Cancel(t.Context(), v.Ref, ""); err != nil {
		t.Error(err)
	}
}

// focusReturns proves that the focus of the keyboard returns from a dialog to its link, also if the link was drawn again meanwhile.
func focusReturns(t *testing.T, b *browser, base string) {
	b.open(base + "/jobs/tick")
	b.eval("window.link = [...document.querySelectorAll('a[data-dialog]')].find(a => a.textContent === 'Backfill'); link.focus(); 0")
	b.do(chromedp.KeyEvent("\r"))
	b.await(10*time.Second, "the dialog has the name of its action",
		"document.querySelector('#dialog[open]')?.ariaLabel === 'Backfill tick'")
	b.eval(`{ const list = document.querySelector('[data-live=actions]');
		list.replaceChildren(...[...list.children].map(e => e.cloneNode(true))); } 0`)
	b.do(chromedp.KeyEvent("\x1b"))
	b.await(10*time.Second, "the focus is at the new link", "!link.isConnected && document.activeElement.textContent === 'Backfill'")
}
