// Rates by priority as small multiples: every priority that occurs, highest first, one time
// axis, each with its own scale. What was added and not started is filled: starvation is a
// block of colour.
import { rate } from '../lib/format.js';
import { jobsHref } from '../lib/place.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { line } from './scale.js';

const WIDTH = 240, HEIGHT = 34;

const order = (key) => (key === '<0' ? -1 : key === '>10' ? 11 : key === 'other' || key === '*' ? -99 : Number(key));
const words = (key) => key.replace('-', '−').replace('<0', '< 0').replace('>10', '> 10');
const query = (key) => (/^-?\d+$/.test(key) ? `priority:${key}` : key === '<0' ? 'priority:<0' : key === '>10' ? 'priority:>10' : '');

/** [{key, added: [rate], started: [rate]}], highest priority first. */
export function byPriority(series, perSecond) {
  const rows = new Map();
  for (const { key, metric, points } of series?.items ?? []) {
    if (!rows.has(key)) rows.set(key, { key, added: [], started: [] });
    if (metric in rows.get(key)) rows.get(key)[metric] = points.map(perSecond);
  }
  return [...rows.values()].sort((a, b) => order(b.key) - order(a.key));
}

function gap(added, started, x, y) {
  let path = '';
  for (let i = 0; i + 1 < added.length; i++) {
    const from = [added[i], started[i] ?? 0], to = [added[i + 1], started[i + 1] ?? 0];
    if (from[0] <= from[1] && to[0] <= to[1]) continue;
    path += `M${x(i)} ${y(from[0])}L${x(i + 1)} ${y(to[0])}L${x(i + 1)} ${y(Math.min(...to))}L${x(i)} ${y(Math.min(...from))}Z`;
  }
  return path;
}

/** Since how many points it has been added to and none was started; 0: it does start. */
export function starving({ added, started }) {
  let n = 0;
  while (n < added.length && !started[added.length - 1 - n]) n++;
  const recent = added.slice(added.length - n);
  return n >= 3 && recent.some((x) => x > 0) ? n : 0;
}

function Row({ row, top }) {
  const high = top ?? Math.max(1e-9, ...row.added, ...row.started);
  const x = (i) => (i * WIDTH) / Math.max(1, row.added.length - 1);
  const y = (v) => HEIGHT - 2 - (Math.min(v, high) / high) * (HEIGHT - 5);
  const last = (list) => list.slice(-5).reduce((a, b) => a + b, 0) / Math.max(1, list.slice(-5).length);
  return html`<a class="pm" href=${jobsHref(query(row.key))}>
    <span class="p">${words(row.key)}${row.key === '5' && html`<small>${t('priority.default')}</small>`}</span>
    <svg class="chart" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="base-l" d=${`M0 ${HEIGHT - 1.5}H${WIDTH}`} /><path class="a-gap" d=${gap(row.added, row.started, x, y)} />
      <path class="ln thin l-in" vector-effect="non-scaling-stroke" d=${line(row.added, x, y)} />
      <path class="ln thin l-run" vector-effect="non-scaling-stroke" d=${line(row.started, x, y)} /></svg>
    <span class="r">${t('priority.rates', { in: rate(last(row.added)), out: rate(last(row.started)) })}
      ${starving(row) > 0 && html`<br /><b class="warn-t">${t('priority.starved')}</b>`}</span></a>`;
}

export function Priorities({ rows, oneScale = false }) {
  if (rows.length === 0) return html`<p class="dim">${t('chart.none')}</p>`;
  const top = oneScale ? Math.max(1e-9, ...rows.flatMap((row) => [...row.added, ...row.started])) : undefined;
  return html`${rows.map((row) => html`<${Row} key=${row.key} row=${row} top=${top} />`)}`;
}
