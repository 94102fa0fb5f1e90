// The life of a job: waiting, attempts, the pauses between them, and what is expected next.
import { clock, secondsBetween, span } from '../lib/format.js';
import { plain } from '../lib/hidden.js';
import { finalStates } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/view.js';
import { timeTicks } from './scale.js';

const ROW = 34, TOP = 26, LABEL = 132, MOST = 12;

const colour = (one) => (!one.finished_at ? 'f-running' : one.code === 'ok' ? 'f-done' : 'f-failed');

function rowsOf(job, attempts, now) {
  const rows = [];
  const first = attempts[0]?.started_at ?? (finalStates.includes(job.state) ? job.finished_at : null);
  const begun = Date.parse(job.created_at);
  rows.push({ from: begun, to: first ? Date.parse(first) : now, fill: 'f-ready', label: t('line.waited'), note: t('line.in', { span: span(((first ? Date.parse(first) : now) - begun) / 1000, { short: true }), queue: job.queue }) });
  const shown = attempts.slice(-MOST);
  for (const one of shown) {
    rows.push({ from: Date.parse(one.started_at), to: one.finished_at ? Date.parse(one.finished_at) : now, fill: colour(one), label: t('line.attempt', { n: one.attempt }),
      note: t('line.on', { span: span(one.run_ms === null ? secondsBetween(one.started_at, new Date(now).toISOString()) : one.run_ms / 1000, { short: true }), node: one.node ?? '' }), text: one.code === 'ok' ? '' : one.error ?? '' });
  }
  if (job.state === 'retrying' || (job.state === 'deferred' && attempts.length === 0)) {
    const due = Date.parse(job.dt);
    rows.push({ from: due, to: due + Math.max(1000, shown.length ? shown[shown.length - 1].run_ms ?? 1000 : 1000), dash: true, label: t('line.attempt', { n: job.attempt + 1 }), note: t('line.expected', { at: clock(job.dt, { seconds: true }) }) });
  }
  return rows;
}

function useWidth() {
  const ref = useRef();
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => { if (ref.current) setWidth(ref.current.clientWidth || 640); }, []);
  useEffect(() => {
    const watcher = new ResizeObserver(() => ref.current && setWidth(ref.current.clientWidth));
    watcher.observe(ref.current);
    return () => watcher.disconnect();
  }, []);
  return [ref, width];
}

const label = (at, range) => (range < 300 ? clock(at, { seconds: true }) : clock(at));

/** Whole times for the axis, also where all of it took a few seconds. */
function marks(from, to, want) {
  const range = (to - from) / 1000;
  if (range > 120) return timeTicks(from / 1000, to / 1000, want).all.map((s) => s * 1000);
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30].find((s) => range / s <= want) * 1000;
  const all = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) all.push(at);
  return range < 2 ? all.filter((_, i) => i % 2 === 0) : all;
}

function Row({ row, i, x, width, rows }) {
  const y = TOP + i * ROW + 8;
  const x0 = x(row.from), w = Math.max(4, x(row.to) - x0);
  const before = rows[i - 1];
  const link = before && i > 1 && row.from - before.to > 0 ? `M${x(before.to)} ${y - ROW + 18}V${y + 9}H${x0 - 2}` : null;
  const right = x0 + w + 8;
  const room = Math.floor((width - right) / 6);
  return html`<text class="key" x="0" y=${y + 6}>${row.label}</text><text x="0" y=${y + 19}>${row.note}</text>
    ${link && html`<path class="t-link" d=${link} />`}
    <rect class=${row.dash ? 't-bar dash' : `t-bar ${row.fill}`} x=${x0} y=${y} width=${w} height="18" rx="3" />
    ${row.text && room > 6 && html`<text class="lab" x=${right} y=${y + 13}>${plain(row.text).slice(0, room)}</text>`}`;
}

export function Timeline({ job, attempts }) {
  const [ref, width] = useWidth();
  const now = Date.now();
  const rows = rowsOf(job, attempts, now);
  const from = Math.min(...rows.map((row) => row.from));
  const over = finalStates.includes(job.state);
  const last = Math.max(...rows.map((row) => row.to), over ? 0 : now);
  const to = last + Math.max(50, (last - from) * 0.06);
  const space = width < 460 ? 96 : LABEL;
  const x = (at) => space + ((at - from) / (to - from)) * (width - space - 8);
  const height = TOP + rows.length * ROW + 6;
  const summary = t('line.summary', { n: attempts.length, state: job.state });
  return html`<div ref=${ref}><svg class="chart" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${summary}>
    ${marks(from, to, width < 460 ? 2 : 5).map((at) => html`<path class="grid-l" d=${`M${x(at)} 18V${height}`} /><text x=${x(at)} y="11" text-anchor=${x(at) > width - 40 ? 'end' : 'middle'}>${label(at, (to - from) / 1000)}</text>`)}
    ${rows.map((row, i) => html`<${Row} row=${row} i=${i} x=${x} width=${width} rows=${rows} />`)}
    ${!over && html`<path class="t-now" d=${`M${x(now)} 16V${height}`} /><text class="key" x=${Math.min(x(now) + 4, width - 24)} y="24">${t('line.now')}</text>`}</svg></div>`;
}
