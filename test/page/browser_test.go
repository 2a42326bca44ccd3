package page

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rota-scheduler/rota/test/lacking"
)

// browser is one tab of a real browser, whose complaints it collects.
type browser struct {
	t       *testing.T
	ctx     context.Context
	console *console

	reported map[string]string // what the inspection has found, with the first page that has it
}

// newBrowser starts a browser. The test skips if there is none, except in CI.
func newBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	path := lacking.Program(t, "chromium", "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("enable-blink-features", "ComputedAccessibilityInfo")) // the names of controls, for inspect
	options = append(options, more...)
	ctx, endAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, endTab := chromedp.NewContext(ctx)
	ctx, endTime := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(func() { endTime(); endTab(); endAllocator() })
	b := &browser{t: t, ctx: ctx, reported: map[string]string{}}
	b.watch()
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("browser: %v", err)
	}
}

// open opens a page, and waits until it is complete. The navigation of chromedp can end before the new page is there, if the script of
// the page before it changes the address at that moment.
func (b *browser) open(url string) {
	b.t.Helper()
	b.eval("window.before = true")
	b.do(chromedp.Navigate(url))
	b.await(20*time.Second, "the page "+url, "!window.before && document.readyState === 'complete'")
}

// eval evaluates an expression in the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	if err != nil && !strings.Contains(err.Error(), "undefined") {
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	v, _ := b.eval(fmt.Sprintf("(document.querySelector(%q) || {textContent: ''}).textContent", selector)).(string)
	return strings.Join(strings.Fields(v), " ")
}

// await waits until an expression is true.
func (b *browser) await(limit time.Duration, what, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			b.shoot("await")
			b.t.Fatalf("%s: not within %v; the page shows: %.600s", what, limit, b.text("main"))
		}
		select {
		case <-b.ctx.Done():
			b.t.Fatalf("%s: %v", what, context.Cause(b.ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// dark switches between the light and the dark colors. Both are for a person who wants little motion.
func (b *browser) dark(on bool) {
	value := "light"
	if on {
		value = "dark"
	}
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		return chromedp.Void{}, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// printed switches to the style of printed pages. dark switches back.
func (b *browser) printed() {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return chromedp.Void{}, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// zone sets the time zone of the browser. It is UTC otherwise.
func (b *browser) zone(name string) {
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
		return chromedp.Void{}, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// scripts switches scripts on or off for the pages that are opened next.
func (b *browser) scripts(on bool) {
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return chromedp.Void{}, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// shoot writes a picture of the whole page to the folder of ROTA_PAGE_PICTURES, if it is set.
func (b *browser) shoot(name string) {
	dir := os.Getenv("ROTA_PAGE_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Logf("picture %s: %v", name, err)
	}
}

// views are the ways in which each page is looked at. A window of 640 points is one of 1280 at 200 %.
var views = []struct {
	name  string
	width int64
}{{"light", 1280}, {"dark", 1280}, {"tablet", 870}, {"zoom", 640}, {"phone", 360}, {"narrow", 320}}

// inSight holds unless the head of the page has scrolled the name of the present view out of sight.
const inSight = `[...document.querySelectorAll('header nav [aria-current]')].every(a => {
	const r = a.getBoundingClientRect();
	return r.left >= 0 && r.right <= innerWidth;
})`

// picture writes pictures of the open page, in the light and in the dark colors, at 200 % and in a narrow window. Nothing may need
// scrolling to the side, except wide tables in their own boxes. Everybody can see, reach and hear what the page has.
func (b *browser) picture(kind, path string) {
	b.t.Helper()
	name := strings.NewReplacer("/", "-", "?", "-", "=", "-", ":", "", "&", "-").Replace(strings.Trim(path, "/"))
	for _, v := range views {
		b.dark(v.name == "dark")
		b.do(chromedp.EmulateViewport(v.width, 900))
		b.shoot(fmt.Sprintf("%s-%.30s-%s", kind, name, v.name))
		if !slices.Contains([]string{"tablet", "zoom", "narrow"}, v.name) {
			b.accessible(fmt.Sprintf("%s %s, %s", kind, path, v.name))
		}
		b.await(5*time.Second, fmt.Sprintf("%s %s shows the name of its view, %s", kind, path, v.name), inSight)
		if wide, _ := b.eval("document.documentElement.scrollWidth > innerWidth + 1").(bool); wide {
			b.t.Errorf("%s %s is wider than a window of %d", kind, path, v.width)
		}
	}
	b.dark(false)
	b.do(chromedp.EmulateViewport(1280, 900))
}

// html returns the source of an element.
func (b *browser) html(selector string) string {
	b.t.Helper()
	v, _ := b.eval(fmt.Sprintf("(document.querySelector(%q) || {innerHTML: ''}).innerHTML", selector)).(string)
	return v
}
