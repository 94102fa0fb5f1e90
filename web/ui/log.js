// What a job printed: by attempt and stream, with find, colours, and following while it runs.
import { ask, at } from '../lib/api.js';
import { ansi } from '../lib/ansi.js';
import { bytes as size, counted } from '../lib/format.js';
import { paused } from '../lib/live.js';
import { parts } from '../lib/hidden.js';
import { finalStates } from '../lib/query.js';
import { t } from '../lib/text.js';
import { useValue } from '../lib/value.js';
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/view.js';
import { Icon } from './icon.js';
import { Segments, Trouble } from './parts.js';

const MOST_LINES = 50000, LONG = 10000, SHOWN_STEP = 1000;

/** Cuts text into lines as it comes; the last one may still grow. */
function lineTaker() {
  let rest = '';
  return {
    take(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      return lines;
    },
    rest: () => rest,
  };
}

async function readStream(job, { attempt, stream, follow }, signal, onLines) {
  const query = { tenant: job.tenant, attempt, stream, follow: follow ? 1 : undefined };
  const response = await ask('GET', at('jobs', job.id, 'log'), { query, signal, accept: 'text/plain' });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const taker = lineTaker();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    onLines(taker.take(value), taker.rest());
  }
  onLines([], taker.rest());
}

/** Lines of an attempt: {lines: [{text, stream}], error, cut}. Both streams are read side by side. */
function useLines(job, attempt, stream, live) {
  const [state, setState] = useState({ lines: [], error: null });
  useEffect(() => {
    const stop = new AbortController();
    const streams = stream === 'all' ? ['stdout', 'stderr'] : [stream];
    const held = [], open = {};
    let timer = null, gone = false;
    const show = () => {
      timer = null;
      if (gone) return;
      const last = streams.filter((one) => open[one]).map((one) => ({ text: open[one], stream: one }));
      setState({ lines: [...held, ...last], error: null });
    };
    const take = (one) => (lines, rest) => {
      for (const text of lines) held.push({ text, stream: one });
      if (held.length > MOST_LINES) held.splice(0, held.length - MOST_LINES);
      open[one] = rest;
      timer ??= setTimeout(show, 100);
    };
    Promise.all(streams.map((one) => readStream(job, { attempt, stream: one, follow: live }, stop.signal, take(one)))).then(show, (error) => {
      if (error.name !== 'AbortError' && !gone) setState((old) => ({ ...old, error }));
    });
    return () => { gone = true; stop.abort(); clearTimeout(timer); };
  }, [job.id, attempt, stream, live]);
  return state;
}

function marked(text, find) {
  if (!find) return text;
  const all = [], low = text.toLowerCase(), what = find.toLowerCase();
  let from = 0;
  for (let i = low.indexOf(what); i >= 0; i = low.indexOf(what, from)) {
    all.push(text.slice(from, i), html`<mark>${text.slice(i, i + what.length)}</mark>`);
    from = i + what.length;
  }
  return [...all, text.slice(from)];
}

function visible(text, find) {
  return parts(text).map((part) => (part.code ? html`<span class="hidden-char">${part.code}</span>` : marked(part, find)));
}

function Line({ no, line, find }) {
  const [whole, setWhole] = useState(false);
  const text = whole ? line.text : line.text.slice(0, LONG);
  return html`<li id=${`L${no}`} class=${line.stream === 'stderr' ? 'err' : ''}><a class="ln-no" href=${`#L${no}`}>${no}</a><span class="tx"><bdi>${ansi(text).map((part) => (part.className ? html`<span class=${part.className}>${visible(part.text, find)}</span>` : visible(part.text, find)))}</bdi>
    ${line.text.length > text.length && html` <button type="button" class="textb" onClick=${() => setWhole(true)}>${t('payload.all', { size: size(line.text.length) })}</button>`}</span></li>`;
}

/** Keeps the end in view until the reader scrolls up. */
function useFollow(box, lines, on) {
  const [following, setFollowing] = useState(on);
  useLayoutEffect(() => {
    if (following && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, following]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    if (scrollHeight - scrollTop - clientHeight > 40 && following) setFollowing(false);
  };
  return { following, setFollowing, scrolled };
}

export function Log({ job }) {
  const running = !finalStates.includes(job.state);
  const off = useValue(paused);
  const [attempt, setAttempt] = useState(null);
  const [stream, setStream] = useState('all');
  const [find, setFind] = useState('');
  const [filter, setFilter] = useState(false);
  const [shown, setShown] = useState(SHOWN_STEP);
  const chosen = attempt ?? job.attempt;
  const live = running && chosen === job.attempt && job.state === 'running' && !off;
  const { lines, error } = useLines(job, chosen || undefined, stream, live);
  const box = useRef();
  const { following, setFollowing, scrolled } = useFollow(box, lines, true);
  const hits = find ? lines.filter((line) => line.text.toLowerCase().includes(find.toLowerCase())).length : 0;
  const numbered = lines.map((line, i) => ({ line, no: i + 1 }));
  const matching = filter && find ? numbered.filter(({ line }) => line.text.toLowerCase().includes(find.toLowerCase())) : numbered;
  const tail = matching.slice(-shown);
  if (job.attempt === 0) return html`<p class="dim card-b">${t('log.notyet')}</p>`;
  const numbers = Array.from({ length: Math.min(8, job.attempt) }, (_, i) => job.attempt - Math.min(8, job.attempt) + i + 1);
  const file = new Blob([lines.map((line) => line.text).join('\n')], { type: 'text/plain' });
  const save = () => {
    const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(file), download: `${job.id}.${chosen}.log` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return html`<div class="logbar">
      ${job.attempt > 1 && html`<${Segments} label=${t('job.attempt')} options=${numbers.map((n) => ({ id: n, label: String(n) }))} chosen=${chosen} onChoose=${setAttempt} />`}
      <${Segments} label=${t('log.stream')} options=${['all', 'stdout', 'stderr'].map((id) => ({ id, label: id === 'all' ? t('log.all') : id }))} chosen=${stream} onChoose=${setStream} />
      <label class="search"><${Icon} name="search" /><input type="search" aria-label=${t('log.find')} placeholder=${t('log.find')} value=${find} onInput=${(e) => setFind(e.target.value)} />${find && html`<span>${t('log.hits', { n: hits, of: counted(lines.length, 'line') })}</span>`}</label>
      ${find && html`<label class="checkline"><input type="checkbox" checked=${filter} onChange=${(e) => setFilter(e.target.checked)} />${t('log.only')}</label>`}
      <span class="r"><button type="button" class="btn small" aria-pressed=${String(following)} onClick=${() => setFollowing(!following)}>${t(following ? 'log.following' : (live ? 'log.follow' : 'log.end'))}</button>
        <button type="button" class="btn quiet icon small" aria-label=${t('log.save')} onClick=${save}><${Icon} name="download" /></button></span></div>
    ${error && html`<div class="card-b"><${Trouble} error=${error} /></div>`}
    <ol class="log" ref=${box} tabindex="0" aria-label=${t('job.tab.log')} onScroll=${scrolled}>
      ${matching.length > tail.length && html`<li class="none"><button type="button" class="textb" onClick=${() => setShown(shown * 4)}>${t('log.older', { n: matching.length - tail.length })}</button></li>`}
      ${tail.map(({ line, no }) => html`<${Line} key=${no} no=${no} line=${line} find=${find} />`)}
      ${lines.length === 0 && !error && html`<li class="none">${t(live ? 'log.silent' : 'log.none')}</li>`}</ol>`;
}
