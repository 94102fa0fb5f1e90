// One queue: how deep, will it drain, its limits, what starts next.
import { useApi } from '../lib/data.js';
import { clock, counted, durationWords, percent, rate, secondsSince, short, span, whole } from '../lib/format.js';
import { href, jobsHref } from '../lib/place.js';
import { createdBetween, term } from '../lib/query.js';
import { drains } from '../lib/ready.js';
import { axis, departures, lately, points } from '../lib/series.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { ChartCard } from '../charts/card.js';
import { Bar } from '../charts/small.js';
import { TimePlot } from '../charts/time.js';
import { clearQueue, editQueue, pauseQueue, resumeQueue } from '../ui/actions.js';
import { Glyph, Icon } from '../ui/icon.js';
import { Act, Card, Empty, Foreign, Head, Shown, State, Trouble } from '../ui/parts.js';

const waitingStates = ['ready', 'deferred', 'blocked', 'held', 'retrying', 'halted'];

function sentence(queue, inRate, outRate) {
  if (queue.paused) {
    const end = queue.paused_until ? t('queue.paused.until', { at: clock(queue.paused_until) }) : t('queue.paused.open');
    return `${t('queue.paused.lead')} ${end}${queue.pause_reason ? `: ${queue.pause_reason}` : ''}`;
  }
  const ready = queue.jobs?.ready ?? 0;
  const left = drains(ready, inRate, outRate);
  const rates = { in: rate(inRate), out: rate(outRate) };
  if (!ready) return t('queue.lead.empty', rates);
  if (left === Infinity) return t('queue.lead.never', { ...rates, jobs: counted(ready, 'waiting') });
  return t('queue.lead.drain', { ...rates, at: clock(Date.now() + left * 1000) });
}

function Kpi({ to, glyph, label, children, below }) {
  return html`<a class="kpi" href=${to}><span class="k">${glyph && html`<${Glyph} state=${glyph} coloured />`}${label}</span><div class="v">${children}</div><div class="d">${below}</div></a>`;
}

function Kpis({ queue, series, inRate, outRate }) {
  const q = term('queue', queue.name);
  const failed = series ? points(series, 'failed').reduce((a, b) => a + b, 0) : 0;
  const ended = series ? points(series, 'finished').reduce((a, b) => a + b, 0) : 0;
  const runs = series ? points(series, 'run_ms').filter((n) => n !== null) : [];
  return html`<section class="card kpis" aria-label=${t('kpi.all')}>
    <${Kpi} to=${jobsHref(`state:ready ${q}`)} glyph="ready" label=${t('kpi.ready')} below=${t('queue.stored', { n: short(Object.values(queue.jobs ?? {}).reduce((a, b) => a + b, 0)) })}>${short(queue.jobs?.ready ?? 0)}<//>
    <${Kpi} to=${jobsHref(`state:running ${q}`)} glyph="running" label=${t('kpi.running')} below=${t(queue.slots === null ? 'queue.nolimit' : 'queue.limit')}>${whole(queue.running)}${queue.slots !== null && html` <small>${t('kpi.of', { n: queue.slots })}</small>`}<//>
    <${Kpi} to=${jobsHref(`created:>-5m ${q}`)} label=${t('kpi.rates')} below=${t('kpi.mean')}>${rate(inRate)} <small>${t('kpi.in')}</small> ${rate(outRate)} <small>${t('kpi.out')}</small><//>
    <${Kpi} to=${jobsHref(`state:ready ${q}`, { order: 'dispatch' })} label=${t('queue.oldest')} below=" ">${queue.head_wait_ms === null ? '–' : span(queue.head_wait_ms / 1000, { short: true })}<//>
    <${Kpi} to=${jobsHref(`state:failed,rejected ${q}`)} label=${t('queue.failing')} below=${t('queue.failing.in', { n: whole(failed) })}>${percent(failed, ended)}<//>
    <${Kpi} to=${jobsHref(`${q} run:>10s`)} label=${t('queue.run')} below=${t('queue.run.mean')}>${runs.length ? span(runs[runs.length - 1] / 1000, { short: true }) : '–'}<//>
  </section>`;
}

/** Ready jobs over time, counted back from now. */
function Depth({ queue, series }) {
  const { times, step } = axis(series);
  const added = points(series, 'added');
  const now = waitingStates.reduce((sum, one) => sum + (queue.jobs?.[one] ?? 0), 0) + (queue.running ?? 0);
  const left = departures(series, now);
  const depth = new Array(times.length);
  let n = now;
  for (let i = times.length - 1; i >= 0; i--) {
    depth[i] = Math.max(0, Math.round(n));
    n -= added[i] - left[i];
  }
  const waits = points(series, 'wait_ms').map((ms) => (ms === null ? null : ms / 1000));
  const link = (i) => jobsHref(`${term('queue', queue.name)} ${createdBetween(times[i], times[i] + step)}`);
  const depthLine = [{ label: t('queue.unfinished'), colour: 's-ready', line: 'l-ready', values: depth, fill: 0.16 }];
  const waitLine = [{ label: t('wait.mean'), colour: 's-retrying', line: 'l-wait', values: waits }];
  const table = { head: [t('chart.time'), t('queue.unfinished'), t('wait.mean')], rows: times.map((time, i) => ({ href: link(i), cells: [clock(time * 1000), whole(depth[i]), span(waits[i], { short: true })] })).reverse() };
  return html`<${ChartCard} title=${t('queue.depth')} question=${t('queue.depth.question')} unit=${t('range.1h')} table=${table} className="po-2" legend=${[...depthLine, ...waitLine]} summary=${t('queue.depth.summary', { n: whole(now) })}>
    <${TimePlot} times=${times} series=${depthLine} pick=${link} query=${(i) => createdBetween(times[i], times[i] + step)} />
    <${TimePlot} times=${times} series=${waitLine} height=${110} format=${(s) => span(s, { short: true })} pick=${link} /><//>`;
}

function Limits({ queue, slots }) {
  const range = queue.priority_min === null && queue.priority_max === null ? t('queue.any') : `${queue.priority_min ?? '…'} – ${queue.priority_max ?? '…'}`.replaceAll('-', '−');
  const rows = [
    ['slots', queue.slots === null ? t('queue.nolimit.node') : html`${queue.slots} <span class="dim">${slots ? t('queue.slots.of', { n: slots }) : ''}</span>`],
    ['rate', queue.rate ? t('queue.rate.text', { n: queue.rate.jobs, per: durationWords(queue.rate.per) }) : t('queue.nolimit.none')],
    ['priority', html`${range} ${queue.default_priority !== null && html`<span class="dim">${t('queue.default', { n: queue.default_priority })}</span>`}`],
    ['policy', queue.policy], ['aging', queue.aging ? t('queue.aging.text', { n: queue.aging }) : t('none')],
    ['resources', queue.resources?.length ? queue.resources.join(', ') : t('none')], ['nice', t(queue.nice ? 'yes' : 'no')],
  ];
  return html`<${Card} title=${t('queue.limits')} right=${queue.declared ? t('declared') : ''} className="po-4"><dl class="kv">${rows.map(([id, value]) => html`<dt>${t(`queue.l.${id}`)}</dt><dd>${value}</dd>`)}</dl><//>`;
}

function Shares({ title, question, rows, className }) {
  const top = Math.max(1, ...rows.map((row) => row.n));
  return html`<${Card} title=${title} question=${question} className=${className}>${rows.length === 0 ? html`<p class="dim">${t('none')}</p>` : html`<table class="compact"><tbody>${rows.map((row) => html`
    <tr><th scope="row"><a href=${row.to}>${row.label}</a></th><td class="w-l"><${Bar} part=${row.n} of=${top} fill=${row.fill} /></td><td class="num">${row.text}</td></tr>`)}</tbody></table>`}<//>`;
}

function Next({ name, items, ready }) {
  return html`<${Card} title=${t('queue.next')} question=${t('queue.next.question')} className="po-3" flush right=${ready > 0 && html`<a class="link" href=${jobsHref(`state:ready ${term('queue', name)}`, { order: 'dispatch' })}>${t('queue.next.all', { n: whole(ready) })}</a>`}>
    ${items.length === 0 ? html`<${Empty} title=${t('queue.next.none')} />` : html`<div class="tw"><table><thead><tr><th scope="col" class="num w-check">#</th><th scope="col">${t('col.job')}</th><th scope="col">${t('job.type')}</th><th scope="col" class="num">${t('col.priority')}</th><th scope="col" class="num">${t('queue.waited')}</th></tr></thead>
      <tbody>${items.map((job, i) => html`<tr key=${job.id}><td class="num">${i + 1}</td><td><a class="strong" href=${href('jobs', job.id)}><${Foreign} text=${job.name ?? job.id} /></a></td><td class="sub">${job.type}</td><td class="num">${job.priority}</td><td class="num">${span(secondsSince(job.run_at), { short: true })}</td></tr>`)}</tbody></table></div>`}<//>`;
}

export default function Queue({ name }) {
  const queue = useApi(`queues/${encodeURIComponent(name)}`, {}, { every: 2 });
  const series = useApi('stats/series', { metric: 'added,finished,ok,failed,retry,error,wait_ms,run_ms', queue: name, from: '-1h' }, { every: 5, rest: 20 });
  const types = useApi('stats/series', { metric: 'started', by: 'type', queue: name, from: '-1h' }, { every: 15, rest: 60 });
  const next = useApi('jobs', { q: `state:ready ${term('queue', name)}`, order: 'dispatch', limit: 8 }, { every: 3 });
  const stats = useApi('stats', {}, { every: 10 });
  const crumb = html`<a href=${href('queues')}>${t('page.queues')}</a>`;
  if (!queue.data) return html`<${Head} title=${name} crumb=${crumb} />${queue.error ? html`<${Trouble} error=${queue.error} retry=${queue.reload} />` : html`<div class="card"><${Shown} of=${queue} /></div>`}`;
  const it = queue.data;
  const inRate = series.data ? lately(series.data, 'added') : 0, outRate = series.data ? lately(series.data, 'finished') : 0;
  const waiting = waitingStates.reduce((sum, one) => sum + (it.jobs?.[one] ?? 0), 0);
  const typeRows = (types.data?.items ?? []).map((one) => ({ label: one.key, n: one.total, text: whole(one.total), fill: 'f-run', to: jobsHref(`${term('queue', name)} ${term('type', one.key)}`) })).sort((a, b) => b.n - a.n).slice(0, 8);
  const stateRows = Object.entries(it.jobs ?? {}).filter(([, n]) => n > 0).map(([state, n]) => ({ label: state, n, text: whole(n), fill: `f-${state}`, to: jobsHref(`state:${state} ${term('queue', name)}`) }));
  return html`<${Head} title=${name} crumb=${crumb} badge=${it.paused && html`<${State} state="paused" />`} lead=${html`<${Foreign} text=${sentence(it, inRate, outRate)} />`}>
      ${it.paused ? html`<${Act} kind="primary" onClick=${() => resumeQueue(it)}><${Icon} name="play" />${t('resume')}<//>` : html`<${Act} onClick=${() => pauseQueue(it)}><${Icon} name="pause" />${t('queue.pause')}<//>`}
      <${Act} scope="admin" disabled=${it.declared} onClick=${() => editQueue(it)}>${t('queue.edit')}<//>
      <${Act} kind="danger-quiet" disabled=${waiting === 0} onClick=${() => clearQueue(it, waiting)}>${t('queue.clear')}<//>
    <//>
    <${Kpis} queue=${it} series=${series.data} inRate=${inRate} outRate=${outRate} />
    <div class="cols wide-left"><div class="stack">
      ${series.data && html`<${Depth} queue=${it} series=${series.data} />`}
      <${Next} name=${name} items=${next.data?.items ?? []} ready=${it.jobs?.ready ?? 0} />
    </div><div class="stack">
      <${Limits} queue=${it} slots=${stats.data?.cluster?.slots} />
      <${Shares} title=${t('queue.states')} rows=${stateRows} className="po-5" />
      <${Shares} title=${t('queue.types')} question=${t('queue.types.question')} rows=${typeRows} className="po-6" />
    </div></div>`;
}
