// The script of the page: it keeps an open view current, shows times in the zone of the viewer, and adds keys and dialogs.
// Everything that it adds works without it as well, by links and forms.
'use strict';
(() => {
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const body = document.body;
const skew = Date.parse(body.dataset.now) - Date.now(); // the clock of the replica minus ours
const now = () => Date.now() + skew;

// Times.
const zoneSelect = $('#zone');
const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* storage is off */ } };
const kept = name => { try { return localStorage.getItem(name); } catch { return null; } };
const zone = () => zoneSelect.value === 'local' ? undefined : zoneSelect.value;
function wall(date, short) {
  const parts = {};
  for (const p of new Intl.DateTimeFormat('en', {timeZone: zone(), year: 'numeric', month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'}).formatToParts(date)) parts[p.type] = p.value;
  if (short) return (short === 'day' ? `${parts.month} ${parts.day} ` : '') + `${parts.hour}:${parts.minute}`;
  if (date.getUTCFullYear() !== new Date(now()).getUTCFullYear()) return `${parts.year} ${parts.month} ${parts.day} ${parts.hour}:${parts.minute}`;
  return `${parts.month} ${parts.day} ${parts.hour}:${parts.minute}:${parts.second}`;
}
function rough(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 60) return s + ' s';
  if (s < 7200) return Math.floor(s / 60) + ' min';
  if (s < 172800) return Math.floor(s / 3600) + ' h';
  return Math.floor(s / 86400) + ' d';
}
function ago(t) {
  const d = now() - t;
  return d < 0 ? (d > -1000 ? 'now' : 'in ' + rough(-d)) : rough(d) + ' ago';
}
function times(root = document) {
  for (const e of $$('time:not([data-ago])', root)) e.textContent = wall(new Date(e.dateTime), e.dataset.short);
  agos(root);
}
function agos(root = document) {
  for (const e of $$('time[data-ago]', root)) {
    const text = ago(Date.parse(e.dateTime));
    if (e.textContent !== text) e.textContent = text;
  }
}
zoneSelect.options[0].textContent = 'your zone, ' + Intl.DateTimeFormat().resolvedOptions().timeZone;
zoneSelect.hidden = false;
const wanted = kept('zone');
if ([...zoneSelect.options].some(o => o.value === wanted)) zoneSelect.value = wanted;
zoneSelect.onchange = () => { keep('zone', zoneSelect.value); times(); };
times();
setInterval(agos, 1000);

// Selecting all jobs or runs of a page.
const picks = 'input[type=checkbox]:is([name=jobs], [name=runs])';
function selectAll() {
  const label = $('#selectall');
  if (!label || !$(picks)) return;
  label.hidden = false;
  $('input', label).onchange = e => { for (const box of $$(picks)) box.checked = e.target.checked; };
}
selectAll();

// Keeping the view current. Only parts whose content has changed are replaced.
const shown = new Map($$('[data-live]').map(e => [e.dataset.live, null]));
// What a screen reader says when it changes: the first line of the overview, and the state of a run.
const toSay = () => $('[data-said]')?.textContent.replace(/^[^\p{L}\p{N}]+/u, '').trim();
let said = toSay();
const rowOf = link => $$('a', link.closest('tr') || link).map(a => a.getAttribute('href')).join(' '); // rows may share a link
let reading = null, again = false, readAt = Date.now();
async function refresh() {
  if (reading) { again = true; return; }
  if (document.hidden || !body.dataset.watch) return;
  reading = new AbortController();
  readAt = Date.now();
  const timeout = setTimeout(() => reading.abort(), 10000);
  try {
    const url = new URL(location.href);
    url.searchParams.delete('done');
    const answer = await fetch(url, {signal: reading.signal, headers: {Accept: 'text/html'}, cache: 'no-store'});
    if (answer.redirected) { location.reload(); return; }
    if ([429, 503].includes(answer.status)) {
      setTimeout(refresh, 1000 * (answer.headers.get('Retry-After') || 2) + 1000 * Math.random());
      return;
    }
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (answer.ok && $('.problem')) { location.reload(); return; } // what was not available is
    if (!answer.ok) {
      const problem = $('.problem', next)?.textContent; // a page of rota, not that of a proxy: the record is gone, or is not for us
      if (answer.status === 401 || [403, 404].includes(answer.status) && problem && problem !== $('.problem')?.textContent) location.reload();
      return;
    }
    for (const fresh of $$('[data-live]', next)) {
      const name = fresh.dataset.live, text = fresh.innerHTML, old = $(`[data-live="${name}"]`);
      if (!old || shown.get(name) === text || old.contains(document.activeElement) && document.activeElement.matches('input, textarea, select, button:active')) continue;
      shown.set(name, text);
      const active = old.contains(document.activeElement) ? document.activeElement : null;
      // The focus returns to the link or button with the same address in the same row.
      const row = active && rowOf(active), marked = active?.closest('.picked');
      const alike = () => $$(active.localName, old).filter(e => ['href', 'formaction'].every(a => e.getAttribute(a) === active.getAttribute(a)));
      const at = active ? alike().filter(e => rowOf(e) === row).indexOf(active) : -1;
      const scrolls = $$('.scroll', old).map(e => e.scrollLeft), picked = new Set($$(picks, old).filter(e => e.checked).map(e => e.value));
      old.replaceChildren(...fresh.childNodes);
      old.className = fresh.className;
      times(old);
      if (name === 'list') { selectAll(); for (const e of $$(picks, old)) e.checked = picked.has(e.value); }
      $$('.scroll', old).forEach((e, i) => { e.scrollLeft = scrolls[i] || 0; });
      if (at < 0) continue;
      const all = alike(), twin = all.filter(e => rowOf(e) === row)[at] || all[0];
      twin?.focus({preventScroll: true});
      if (marked) twin?.closest('tr')?.classList.add('picked');
    }
    if (said !== toSay()) $('#said').textContent = said = toSay();
    const fresh = output && $('#output', next);
    if (fresh) output.dataset.liveOutput = fresh.dataset.liveOutput;
    const another = fresh && output.dataset.attempt !== fresh.dataset.attempt; // the run is tried again
    if (fresh && (another || !following)) { // the attempt has begun, or has ended, since the page was opened
      following?.abort(); // a browser has few connections to one server
      following = null;
      output.dataset.attempt = fresh.dataset.attempt;
      if (another || fresh.innerHTML !== output.innerHTML && !$('#outputsearch').value) output.replaceChildren(...fresh.childNodes);
      if (fresh.dataset.liveOutput) follow(fresh.dataset.liveOutput);
      $('#part').hidden = $('#part', next).hidden;
      output.hidden = fresh.hidden;
      $('#nooutput').hidden = !fresh.hidden;
      $('#nooutput').textContent = $('#nooutput', next).textContent;
    }
  } catch { /* the next event, or the next connection, reads again */ } finally {
    clearTimeout(timeout);
    reading = null;
    if (again) { again = false; setTimeout(refresh, 500); }
  }
}

// The stream of events. A hidden page closes it, because browsers allow few connections to one server.
const live = $('#live'), trouble = $('#trouble');
let source = null, last = Number(body.dataset.revision), leader = null, polling = null, failures = 0, heardAt = 0;
function state(on, text) {
  live.hidden = false;
  live.dataset.state = on ? 'on' : 'off';
  live.lastElementChild.textContent = text;
}
function poll() { // without event streams, or while they fail, the view is read again at intervals
  polling ??= setInterval(refresh, 5000);
}
function warn(node, age) { // the age changes all the time, so it is not read aloud
  let span = $('#age');
  if (!span) {
    span = document.createElement('span');
    span.id = 'age';
    span.ariaHidden = 'true';
    trouble.replaceChildren(`Replica ${node} has not reached etcd`, span, '. This page shows the last known state.');
  }
  span.textContent = ` for ${rough(age)}`;
}
function onCluster(e) {
  heardAt = Date.now();
  const c = JSON.parse(e.data), line = $('[data-live=leader]');
  const key = c.leader ? c.leader.node + '/' + c.leader.term : '';
  line.replaceChildren();
  const add = (tag, cls, text) => { const n = document.createElement(tag); n.className = cls; n.textContent = text; line.append(n); };
  add('span', 'dot ' + (c.leader ? 'ok' : 'bad'), '');
  if (c.leader) {
    const who = document.createElement('span'), name = document.createElement('b');
    name.textContent = c.leader.node;
    const leads = document.createElement('span');
    leads.className = 'leads';
    leads.textContent = ' leads';
    who.append(name, leads);
    line.append(who);
    add('span', 'muted wide', 'term ' + c.leader.term);
  } else add('span', '', 'no leader');
  const age = Date.parse(c.at) - Date.parse(c.as_of);
  if (age > 10000) warn(c.node, age);
  trouble.hidden = !(age > 10000);
  if (source) state(!(age > 10000), age > 10000 ? 'old data' : 'live');
  if (leader !== null && leader !== key) refresh();
  leader = key;
}
function onChange(e) {
  const c = JSON.parse(e.data), watch = body.dataset.watch;
  last = c.revision;
  if (watch && (watch === '*' || c.all || (c.jobs || []).includes(watch))) setTimeout(refresh, Math.random() * c.retry);
}
function connect() {
  if (source || document.hidden) return;
  if (!window.EventSource) { if (!body.dataset.watch) return; state(false, 'reads again every 5 s'); poll(); return; }
  source = new EventSource('/v1/live' + (last ? '?after=' + last : ''));
  heardAt = Date.now();
  source.onopen = () => {
    state(true, 'live');
    if (!$('.problem')) { clearInterval(polling); polling = null; }
    if (failures) refresh();
    failures = 0;
  };
  source.onerror = () => {
    lost();
    if (source.readyState === EventSource.CLOSED) { source = null; setTimeout(connect, 2000); }
  };
  source.addEventListener('cluster', onCluster);
  source.addEventListener('changed', onChange);
}
function lost() {
  failures++;
  state(false, 'connection lost, trying again');
  poll();
}
// A replica says something every 15 s at least. A connection that is cut without a sign, as by a network that is gone, says nothing.
setInterval(() => {
  if (!source || Date.now() - heardAt < 25000) return;
  source.close();
  source = null;
  lost();
  connect();
}, 5000);
function disconnect() { source?.close(); source = null; clearInterval(polling); polling = null; }
document.addEventListener('visibilitychange', () => { if (document.hidden) disconnect(); else { connect(); refresh(); } });
addEventListener('pagehide', disconnect);
addEventListener('pageshow', e => { if (e.persisted) { connect(); refresh(); } });
connect();
if ($('.problem')) poll();
// Some of what a view shows changes by time alone: how long runs wait, the last hour, the end of a session.
setInterval(() => { if (Date.now() - readAt > 20000) refresh(); }, 25000 + Math.random() * 10000);

// The output of an attempt, as it comes, with its colors. All text is set as text, never as HTML.
const output = $('#output');
// As in ansi.go: colors, strings such as titles and links, character sets, and the rest. A piece may end within a sequence.
const sequences = /(\x1b(?:\[[0-?]{0,200}[ -\/]{0,16}[@-~]|[\]PX^_][^\x00-\x1f\x7f]{0,4096}(?:\x07|\x1b\\)|[ -\/]{1,16}[0-~]|[0-~])?)/u;
const unfinished = /\x1b(?:\[[0-?]{0,200}[ -\/]{0,16}|[\]PX^_][^\x00-\x1f\x7f]{0,4096}\x1b?|[ -\/]{0,16})?$/u;
let style = {color: '', bold: false, returned: false}; // returned: the text so far ends with a carriage return
let following = null; // ends the reading of the output that the page shows as it comes
const longest = 1 << 18; // characters of output that the page shows: more would keep the browser busy
function print(text) {
  const follow = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
  for (const part of text.split(sequences)) {
    const sgr = /^\x1b\[([0-9;]*)m$/.exec(part);
    if (sgr) {
      const list = sgr[1].split(';').map(Number);
      for (let i = 0; i < list.length; i++) {
        const n = list[i];
        if (n === 0) { style.color = ''; style.bold = false; } else if (n === 1) style.bold = true; else if (n === 22) style.bold = false;
        else if (n >= 30 && n <= 37) style.color = 'a-' + (n - 30); else if (n >= 90 && n <= 97) style.color = 'a-' + (n - 82);
        else if (n === 39) style.color = ''; else if (n === 38 || n === 48) i += list[i + 1] === 5 ? 2 : 4;
      }
      continue;
    }
    const clean = part[0] === '\x1b' ? '' : part.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '') // with ESC begin the sequences
      .replace(/[\u202a-\u202e\u2066-\u2069]/g, c => '\\u' + c.charCodeAt(0).toString(16)); // as in bidi.go
    if (!clean) continue;
    const span = document.createElement('span');
    span.className = (style.color + (style.bold ? ' a-b' : '')).trim();
    span.textContent = (style.returned ? clean.replace(/^\r*\n?/, '') : clean).replace(/\r+\n?/g, '\n');
    style.returned = clean.endsWith('\r');
    output.append(span);
  }
  trim();
  if (follow) output.scrollTop = output.scrollHeight;
}
function trim() { // removes the oldest output, in whole pieces
  let oldest = output.lastChild;
  for (let size = 0, n = 0; oldest && size < longest && n < 5000; n++, oldest = oldest.previousSibling) size += oldest.textContent.length;
  if (!oldest) return;
  while (output.firstChild !== oldest) output.firstChild.remove();
  oldest.remove();
  $('#part').hidden = false;
}
async function follow(path) {
  const {signal} = following = new AbortController();
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 15000)) {
    try {
      const answer = await fetch(path, {signal});
      if (answer.ok) {
        style = {color: '', bold: false, returned: false};
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = '', end = null, first = true;
        for (;;) {
          const {value, done} = await reader.read();
          if (signal.aborted) return;
          if (done) break;
          if (first) { output.hidden = false; $('#nooutput').hidden = $('#part').hidden = true; output.replaceChildren(); first = false; }
          while (output.lastChild !== end) output.lastChild.remove(); // the rest, which is printed again with this piece
          const text = (rest + value).slice(-longest), cut = text.search(unfinished);
          if (value.length > longest) $('#part').hidden = false;
          rest = cut < 0 ? '' : text.slice(cut);
          print(cut < 0 ? text : text.slice(0, cut));
          end = output.lastChild;
          const before = {...style};
          print(rest); // as text, until the sequence has its end
          style = before;
        }
        await refresh();
        if (!output.dataset.liveOutput) return;
        wait = 500; // the attempt runs: a proxy has ended the stream
      }
      if (answer.status === 404 && answer.headers.get('Content-Type')?.includes('problem+json')) return; // of rota, not of a proxy
    } catch { /* the connection broke: read again from the beginning */ }
    await new Promise(done => setTimeout(done, wait));
  }
}
if (output) {
  output.scrollTop = output.scrollHeight;
  if (output.dataset.liveOutput) follow(output.dataset.liveOutput);
  const search = $('#outputsearch');
  search.hidden = false;
  search.oninput = () => {
    $$('mark', output).forEach(m => m.replaceWith(m.textContent));
    output.normalize();
    if (!search.value) return;
    const word = new RegExp(search.value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');
    const walk = document.createTreeWalker(output, NodeFilter.SHOW_TEXT), texts = [];
    for (let n; (n = walk.nextNode());) texts.push(n);
    let hits = 0; // more than a thousand would keep the browser busy
    for (const n of texts) {
      const parts = [];
      let at = 0;
      for (const hit of n.data.matchAll(word)) {
        if (++hits > 1000) break;
        const mark = document.createElement('mark');
        mark.textContent = hit[0];
        parts.push(n.data.slice(at, hit.index), mark);
        at = hit.index + hit[0].length;
      }
      if (at) n.replaceWith(...parts, n.data.slice(at));
    }
    $('mark', output)?.scrollIntoView({block: 'nearest'});
  };
}

// Actions open in a dialog. It is the same form as on its own page.
const dialog = $('#dialog');
let opener = ''; // the address of the link that has opened it
dialog.onclose = () => { // the link may be a new one, with which the focus cannot return by itself
  const at = document.activeElement;
  if (at === body || dialog.contains(at)) $$('a[data-dialog]').find(a => a.href === opener)?.focus();
};
document.addEventListener('click', async e => {
  const link = e.target.closest('a[data-dialog]');
  if (link && !e.ctrlKey && !e.metaKey && !e.shiftKey) {
    e.preventDefault();
    try {
      const answer = await fetch(link.href);
      if (answer.redirected || !answer.ok) throw new Error('no form'); // such as the login page, whose style the policy forbids here
      const form = $('form.action', new DOMParser().parseFromString(await answer.text(), 'text/html'));
      if (!form) throw new Error('no form');
      dialog.replaceChildren(form);
      dialog.ariaLabel = $('h1', form).textContent;
      opener = link.href;
      times(dialog);
      dialog.showModal();
      $('input:not([type=hidden]), textarea', dialog)?.focus();
    } catch { location.href = link.href; }
  }
  if (e.target.closest('dialog [data-close]')) { e.preventDefault(); dialog.close(); }
});
document.addEventListener('submit', e => { // a second click sends nothing twice
  const button = $('form.action button', e.target.parentNode);
  if (e.target.matches('form.action') && button) setTimeout(() => { button.disabled = true; });
});

// In a narrow window the names of the views are one line, which begins at the present view and follows the keyboard.
const views = $('header nav'), here = $('[aria-current]', views);
const center = e => { if (e) views.scrollLeft = e.offsetLeft + e.offsetWidth / 2 - views.clientWidth / 2; };
center(here);
addEventListener('resize', () => center(here));
views.addEventListener('focusin', () => center($(':focus-visible', views))); // a click must not move what it hits
views.addEventListener('focusout', e => { if (!views.contains(e.relatedTarget)) center(here); });

// Keys.
const help = $('#help'), keys = $('#keys');
help.hidden = false;
help.onclick = () => keys.showModal();
let prefix = 0;
function pick(step) {
  const rows = $$('.rows tbody tr').filter(row => $('a', row));
  if (!rows.length) return;
  const focused = rows.findIndex(row => row.contains(document.activeElement));
  const at = focused < 0 ? rows.findIndex(row => row.classList.contains('picked')) : focused;
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
  for (const row of rows) row.classList.remove('picked');
  next.classList.add('picked');
  ($('.when a', next) || $('a', next)).focus(); // in a row of a run, the job comes first
}
document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || $('dialog[open]')) return;
  if (e.target.matches('input, textarea, select')) { if (e.key === 'Escape') e.target.blur(); return; }
  const go = Date.now() - prefix < 1500 && $(`header nav a[data-key="${CSS.escape(e.key)}"]`);
  prefix = 0;
  if (go) location.href = go.href;
  else if (e.key === '/') { e.preventDefault(); $('#search').focus(); $('#search').select(); }
  else if (e.key === '?') keys.showModal();
  else if (e.key === 'g') prefix = Date.now();
  else if (e.key === 'j') pick(1);
  else if (e.key === 'k') pick(-1);
});

// A link to a closed description opens it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.matches('details')) target.open = true;
}
addEventListener('hashchange', reveal);
reveal();

// The note about an action is not shown again when the page is reloaded or shared.
const address = new URL(location.href);
if (address.searchParams.has('done')) { address.searchParams.delete('done'); history.replaceState(null, '', address); }
})();
