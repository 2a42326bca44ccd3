package page

import (
	"context"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// complaints records, in the page itself and from its first line on, violations of the Content-Security-Policy and errors of
// scripts.
const complaints = `(() => {
  const key = 'complaints', note = text => { try { sessionStorage.setItem(key, (sessionStorage.getItem(key) || '') + text + '\n'); } catch { /* about:blank */ } };
  addEventListener('securitypolicyviolation', e => note('csp: ' + e.violatedDirective + ' ' + e.blockedURI));
  addEventListener('error', e => note('error: ' + (e.message || e.target.src || e.target.href)), true);
  addEventListener('unhandledrejection', e => note('rejection: ' + e.reason));
  const log = console.error; console.error = (...args) => { note('console: ' + args.join(' ')); log(...args); };
})()`

// console collects what the browser itself writes to the console of the page as errors. Its methods may run concurrently.
type console struct {
	mu    sync.Mutex
	lines []string
}

// watch begins to record the complaints of all pages that the tab opens.
func (b *browser) watch() {
	b.t.Helper()
	b.console = &console{}
	if err := chromedp.Listen(b.ctx, func(ev any) {
		if e, ok := ev.(*log.EventEntryAdded); ok && e.Entry != nil && e.Entry.Level == log.EntryLevelError {
			b.console.mu.Lock()
			defer b.console.mu.Unlock()
			b.console.lines = append(b.console.lines, e.Entry.Text+" "+e.Entry.URL)
		}
	}); err != nil {
		b.t.Fatal(err)
	}
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		if _, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{}); err != nil {
			return chromedp.Void{}, err
		}
		if _, err := cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
			return chromedp.Void{}, err
		}
		return chromedp.Void{}, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.first(complaints)
}

// first runs a script before those of each page that the tab opens.
func (b *browser) first(source string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
		return chromedp.Void{}, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// complained returns everything that went wrong in the pages, except requests that failed because a test wanted that.
func (b *browser) complained(wanted ...string) string {
	b.t.Helper()
	v, _ := b.eval("sessionStorage.getItem('complaints') || ''").(string)
	b.console.mu.Lock()
	defer b.console.mu.Unlock()
lines:
	for _, line := range b.console.lines {
		for _, w := range wanted {
			if strings.Contains(line, w) {
				continue lines
			}
		}
		v += "console: " + line + "\n"
	}
	return v
}
