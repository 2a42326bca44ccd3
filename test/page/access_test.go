package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// inspect returns what a person cannot see, reach or hear in the open page, one line each. It measures the computed colors against
// WCAG 2.2 AA: 4.5:1 for text, 3:1 for large text, for graphics, and for the edges of fields. Three kinds of graphics are left out:
// lines that divide, areas that catch the pointer, and the heat map, whose shades are its meaning and which has a table.
const inspect = `(() => {
  const found = new Set(), note = text => found.add(text.replace(/\s+/g, ' ').slice(0, 160));
  const parse = text => { const m = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text); return m ? [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]] : null; };
  const over = (c, b) => [0, 1, 2].map(i => c[i] * c[3] + b[i] * (1 - c[3]));
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const ground = e => { // what is behind an element
    const layers = [];
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c && c[3] > 0) { layers.push(c); if (c[3] === 1) break; } }
    return layers.reverse().reduce((b, c) => over(c, b), matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255]);
  };
  const visible = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && e.getBoundingClientRect().width > 1;
  const about = e => e.tagName.toLowerCase() + (e.getAttribute('class') ? '.' + e.getAttribute('class').trim().replace(/\s+/g, '.') : '');
  const check = (what, e, color, behind, want) => { const got = ratio(color, behind); if (got < want) note('contrast ' + got.toFixed(2) + ' of ' + what + ' ' + about(e) + ' in ' + about(e.parentElement) + ', want ' + want); };

  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement, style = getComputedStyle(e);
    if (!n.data.trim() || e.closest('noscript, script, option, title') || !visible(e)) continue;
    const svg = e.closest('svg'), box = svg && e.closest('a')?.querySelector('rect');
    const behind = box ? over(parse(getComputedStyle(box).fill), ground(svg.parentElement)) : ground(svg || e);
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && +style.fontWeight >= 700;
    const color = parse(svg ? style.fill : style.color);
    check('text "' + n.data.trim().slice(0, 20) + '"', e, over(color, behind), behind, large ? 3 : 4.5);
  }
  for (const e of document.querySelectorAll('svg :is(rect, path, circle), .dot')) {
    if (e.closest('.heat, .swatch, defs') || e.matches('.track, .hit, .node.none, .gridline') || !visible(e)) continue;
    const style = getComputedStyle(e), behind = ground(e.closest('svg')?.parentElement || e.parentElement);
    const colors = (e.matches('.dot') ? [style.backgroundColor] : e.matches('.node') ? [style.stroke] : [style.fill, style.stroke]).map(parse).filter(c => c && c[3] > 0);
    const faint = parseFloat(style.fillOpacity) < 1 ? 1 : 0; // a shade with an edge counts by its edge
    if (colors.length) check('graphic', e, over(colors[Math.min(faint, colors.length - 1)], behind), behind, 3);
  }
  const controls = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')].filter(visible);
  for (const e of controls) {
    const label = e.getAttribute('aria-label') || e.matches('a, button, summary') && e.textContent || e.computedName || '';
    if (!label.trim()) note('no name of ' + about(e) + ' ' + e.outerHTML.slice(0, 80));
    if (e.matches('input, select, textarea, button:not(.plain), .button')) {
      const style = getComputedStyle(e), behind = ground(e.parentElement);
      if (e.matches('[type=checkbox]')) continue; // the browser draws it
      const edge = parse(style.borderTopColor), fill = parse(style.backgroundColor);
      if (Math.max(ratio(over(edge, behind), behind), ratio(over(fill, behind), behind)) < 3) check('edge', e, over(edge, behind), behind, 3);
      const box = e.getBoundingClientRect();
      if (box.height < 24 || box.width < 24) note('small target ' + about(e) + ' ' + Math.round(box.width) + 'x' + Math.round(box.height));
    }
  }
  const x = scrollX, y = scrollY;
  const kinds = new Set();
  for (const e of controls) {
    const kind = about(e) + about(e.parentElement);
    if (kinds.has(kind)) continue;
    kinds.add(kind);
    e.focus({preventScroll: true});
    const style = getComputedStyle(e);
    if (document.activeElement !== e || style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) note('the focus of ' + about(e) + ' is not seen');
    else if (e.matches(':not(svg a)')) check('focus', e, parse(style.outlineColor), ground(e.parentElement), 3);
  }
  document.activeElement.blur();
  scrollTo(x, y);

  const heads = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(visible).map(e => +e.tagName[1]);
  if (heads.filter(n => n === 1).length !== 1 || heads[0] !== 1) note('headings ' + heads.join(' ') + ': want one h1, first');
  heads.forEach((n, i) => { if (i && n > heads[i - 1] + 1) note('headings ' + heads.join(' ') + ' leave out a level'); });
  if (document.documentElement.lang !== 'en') note('no lang');
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) note('two elements with id ' + id);
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) for (const e of document.querySelectorAll('*')) {
    const style = getComputedStyle(e);
    if (parseFloat(style.transitionDuration) || style.animationName !== 'none' || style.scrollBehavior === 'smooth') note('motion of ' + about(e));
  }
  return [...found].join('\n');
})()`

// accessible complains about what a person cannot see, reach or hear in the open page.
func (b *browser) accessible(what string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent("\t")) // from here on, the focus is seen
	list, _ := b.eval(inspect).(string)
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); b.reported[line] == "" {
			b.reported[line] = what // the first page is enough
			b.t.Errorf("%s: %s", what, line)
		}
	}
}

// focusInSight checks that the keyboard leads to nothing that is out of sight: below the head of the page, or beside a narrow window.
func focusInSight(b *browser, base string) {
	b.open(base + "/api")
	b.do(chromedp.EmulateViewport(1280, 700), chromedp.KeyEvent("\t"))
	b.await(5*time.Second, "the focus is below the head of the page", `(() => {
		const e = document.querySelectorAll('main summary')[30];
		scrollBy(0, e.getBoundingClientRect().top - 10);
		e.focus();
		return e.getBoundingClientRect().top >= document.querySelector('header').getBoundingClientRect().bottom;
	})()`)
	b.do(chromedp.EmulateViewport(320, 700), chromedp.KeyEvent("\t"))
	b.await(5*time.Second, "the name of each view comes into sight", `[...document.querySelectorAll('header nav a')].every(e => {
		e.focus();
		const r = e.getBoundingClientRect();
		return r.left >= 0 && r.right <= document.documentElement.clientWidth;
	})`)
	b.do(chromedp.EmulateViewport(1280, 900))
}

// TestInspect proves that the inspection finds each kind of defect.
func TestInspect(t *testing.T) {
	b := newBrowser(t)
	b.dark(false)
	b.open("about:blank")
	for defect, want := range map[string]string{
		`<h1>A</h1><p style="color:#999;background:#fff">pale</p>`:                           "contrast 2.85 of text",
		`<h1>A</h1><svg width="9" height="9"><rect width="9" height="9" fill="#ddd"/></svg>`: "of graphic",
		`<h1>A</h1><button></button>`:                                                        "no name of button",
		`<h1>A</h1><input aria-label="A" style="border:1px solid #eee;background:#fff">`:     "of edge input",
		`<h1>A</h1><h3>B</h3>`: "leave out a level",
		`<h2>A</h2>`:           "want one h1",
		`<h1>A</h1><a href="/" style="outline:none">a</a>`:   "the focus of a is not seen",
		`<h1>A</h1><p style="transition:color 1s">moves</p>`: "motion of p",
	} {
		b.eval(fmt.Sprintf("document.open(); document.write('<!DOCTYPE html><html lang=en><body>' + %q); document.close(); 0", defect))
		b.do(chromedp.KeyEvent("\t"))
		if got, _ := b.eval(inspect).(string); !strings.Contains(got, want) {
			t.Errorf("%s: found %q, want %q", defect, got, want)
		}
	}
}
