// How long jobs waited before they started, over time.
import { clock, span } from '../lib/format.js';
import { jobsHref } from '../lib/place.js';
import { createdBetween } from '../lib/query.js';
import { axis, points } from '../lib/series.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { ChartCard } from './card.js';
import { TimePlot } from './time.js';

const seconds = (n) => span(n, { short: true });

/** The mean wait and the mean run, where no histograms can be had. */
export function WaitCard({ flow }) {
  if (!flow) return html`<${ChartCard} title=${t('wait.title')} question=${t('wait.question')}><div class="plot"></div><//>`;
  const { times, step } = axis(flow);
  const values = points(flow, 'wait_ms').map((n) => (n === null ? null : n / 1000));
  const series = [{ label: t('wait.mean'), colour: 's-retrying', line: 'l-wait', values, fill: 0.14 }];
  const last = [...values].reverse().find((n) => n !== null);
  const link = (i) => jobsHref(createdBetween(times[i], times[i] + step));
  const table = { head: [t('chart.time'), t('wait.mean')], rows: times.map((time, i) => ({ href: link(i), cells: [clock(time * 1000), seconds(values[i])] })).reverse() };
  return html`<${ChartCard} title=${t('wait.title')} question=${t('wait.question')} unit=${t('wait.unit')} table=${table}
    legend=${series.map((one) => ({ ...one, value: seconds(last) }))} summary=${t('wait.summary', { mean: seconds(last) })}>
    <${TimePlot} times=${times} series=${series} format=${seconds} pick=${link} query=${(i) => createdBetween(times[i], times[i] + step)} /><//>`;
}
