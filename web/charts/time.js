// A plot over time, drawn by uPlot, which is loaded when the first one is shown.
import { clock, short } from '../lib/format.js';
import { go } from '../lib/place.js';
import { t } from '../lib/text.js';
import { colours, theme } from '../lib/theme.js';
import { useValue } from '../lib/value.js';
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/view.js';
import { timeTicks } from './scale.js';

let loading = null;
const load = () => (loading ??= Promise.all([import('../vendor/uplot.js'), style()]).then(([module]) => module.default));

function style() {
  return new Promise((resolve) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = 'vendor/uplot.css';
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}

const tint = (colour, alpha) => `color-mix(in srgb, ${colour} ${Math.round(alpha * 100)}%, transparent)`;

function axisTimes(u, min, max, marks, step) {
  const day = step >= 86400;
  return marks.map((at) => (day ? new Date(at * 1000).toLocaleDateString(undefined, { day: 'numeric', month: 'short' }) : clock(at * 1000)));
}

function options(uPlot, { series, stacked, height, format = short }, width) {
  const [axis, grid] = colours('chart-axis', 'chart-grid');
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  let step = 60;
  return {
    width, height, legend: { show: false }, padding: [8, 18, 0, 0],
    cursor: { y: false, points: { size: 6 }, drag: { setScale: false, x: false, y: false }, sync: { key: 'pawl' } },
    scales: { x: { time: true }, y: { range: (u, min, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      { stroke: axis, font, grid: { show: false }, ticks: { show: false }, size: 24, gap: 6,
        splits: (u, i, min, max) => { const found = timeTicks(min, max, width < 420 ? 4 : 6); step = found.step; return found.all; },
        values: (u, marks) => axisTimes(u, 0, 0, marks, step) },
      { stroke: axis, font, grid: { stroke: grid, width: 1 }, ticks: { show: false }, size: 44, gap: 6, values: (u, marks) => marks.map(format) },
    ],
    series: [{}, ...series.map((one) => {
      const [colour] = colours(one.colour);
      return {
        label: one.label, stroke: colour, width: 1.75, points: { show: false }, spanGaps: false, dash: one.dash ? [4, 3] : undefined,
        fill: one.fill ? tint(colour, one.fill) : undefined, paths: stacked ? uPlot.paths.linear() : undefined,
      };
    })],
  };
}

function Tip({ tip, series, times, format, query }) {
  if (!tip) return null;
  const { i, left, width } = tip;
  const place = left > width / 2 ? { right: `${width - left + 12}px`, top: '4px' } : { left: `${left + 56}px`, top: '4px' };
  return html`<div class="tip" style=${place}><b>${clock(times[i] * 1000)}</b>${series.map((one) => html`<br />${one.label} ${format(one.values[i])}`)}
    ${query && html`<br /><code>${query(i)}</code>`}</div>`;
}

/**
 * times: seconds; series: [{label, colour: token, values, fill: 0..1, dash}];
 * pick(i): where a click on the point leads; query(i): the query it opens, shown beside the pointer.
 */
export function TimePlot({ times, series, height = 190, format = short, pick, query }) {
  const box = useRef();
  const plot = useRef(null);
  const now = useValue(theme);
  const [tip, setTip] = useState(null);
  const latest = useRef();
  latest.current = { times, series, pick };
  const data = () => [latest.current.times, ...latest.current.series.map((one) => one.values)];

  useEffect(() => {
    let gone = false, watcher;
    load().then((uPlot) => {
      if (gone || !box.current) return;
      const opts = options(uPlot, { series, height, format }, box.current.clientWidth);
      opts.hooks = { setCursor: [(u) => {
        const i = u.cursor.idx;
        setTip(i === null || i === undefined || u.cursor.left < 0 ? null : { i, left: u.cursor.left, width: u.over.clientWidth });
      }] };
      plot.current = new uPlot(opts, data(), box.current);
      plot.current.over.addEventListener('click', () => {
        const i = plot.current.cursor.idx;
        const to = i !== null && latest.current.pick?.(i);
        if (to) go(to);
      });
      watcher = new ResizeObserver(() => plot.current.setSize({ width: box.current.clientWidth, height }));
      watcher.observe(box.current);
    });
    return () => { gone = true; watcher?.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [now, series.length, height]);

  useLayoutEffect(() => { plot.current?.setData(data()); });

  return html`<div class=${`plot ${height < 150 ? 'low' : ''}`}><div ref=${box}></div>
    <${Tip} tip=${tip} series=${series} times=${times} format=${format} query=${query} />
    ${times.length === 0 && html`<p class="dim">${t('chart.none')}</p>`}</div>`;
}
