// Overview: does work keep up, what needs attention, and how it has been.
import { at, post } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { clock, counted, percent, rate, short, span, whole } from '../lib/format.js';
import { go, href, jobsHref } from '../lib/place.js';
import { createdBetween, term } from '../lib/query.js';
import { drains } from '../lib/ready.js';
import { axis, departures, lately, points, ranges } from '../lib/series.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { ChartCard } from '../charts/card.js';
import { Priorities, byPriority, starving } from '../charts/priority.js';
import { Bar, Spark } from '../charts/small.js';
import { Slots } from '../charts/slots.js';
import { TimePlot } from '../charts/time.js';
import { WaitCard } from '../charts/wait.js';
import { resumeQueue } from '../ui/actions.js';
import { bulk } from '../ui/bulk.js';
import { Glyph, Icon } from '../ui/icon.js';
import { Act, Card, CodeBox, Foreign, Head, Segments, Shown, State, Time, Trouble } from '../ui/parts.js';

const sum = (list) => list.reduce((a, b) => a + b, 0);

function Welcome() {
  return html`<div class="welcome"><div><h1>${t('welcome.title')}</h1><p>${t('welcome.text')}</p></div>
    <ol class="card steps">
      <li><span class="no">1</span><div><h2>${t('welcome.run')}</h2><p>${t('welcome.run.text')}</p><${CodeBox} text="pawl run --wait -- echo hello" /></div></li>
      <li><span class="no">2</span><div><h2>${t('welcome.handler')}</h2><p>${t('welcome.handler.text')}</p><${CodeBox} text="pawl handler set greet --lang sh --body 'echo hello $(cat)'" /></div></li>
      <li><span class="no">3</span><div><h2>${t('welcome.add')}</h2><p>${t('welcome.add.text')}</p><div class="row-b"><a class="btn primary" href=${href('jobs', 'new')}><${Icon} name="plus" />${t('jobs.add')}</a></div></div></li>
    </ol></div>`;
}

/** The page's answer in a sentence, and the sentence behind it. */
function verdict(stats, queues, inRate, outRate) {
  const { running, retrying } = stats.jobs;
  const asleep = (queues ?? []).filter((queue) => queue.paused).reduce((n, queue) => n + (queue.jobs?.ready ?? 0), 0);
  const ready = Math.max(0, stats.jobs.ready - asleep);
  const left = drains(ready, inRate, outRate);
  if (!ready && asleep) return [t('verdict.asleep'), t('verdict.asleep.text', { jobs: counted(asleep, 'waiting') })];
  if (!ready) return [t('verdict.clear'), t('verdict.clear.text', { running: counted(running, 'job'), retrying: whole(retrying) })];
  if (left < 5) return [t('verdict.keeps'), t('verdict.keeps.text', { ready: counted(ready, 'job') })];
  if (left === Infinity && outRate === 0) return [t('verdict.still', { ready: counted(ready, 'job') }), t('verdict.still.text')];
  if (left === Infinity) return [t('verdict.behind', { ready: counted(ready, 'job') }), t('verdict.behind.text', { in: rate(inRate), out: rate(outRate) })];
  return [t('verdict.catching', { at: clock(Date.now() + left * 1000) }), t('verdict.catching.text', { ready: counted(ready, 'job'), in: rate(inRate), out: rate(outRate) })];
}

function Kpi({ to, glyph, label, children, below, bad }) {
  return html`<a class="kpi" href=${to}><span class="k">${glyph && html`<${Glyph} state=${glyph} coloured />`}${label}</span>
    <div class="v">${children}</div><div class=${`d ${bad ? 'bad' : ''}`}>${below}</div></a>`;
}

function Kpis({ stats, queues, flow, inRate, outRate }) {
  const { jobs } = stats;
  const slots = stats.cluster?.slots ?? stats.slots?.total;
  const used = stats.cluster?.used ?? stats.slots?.used;
  const oldest = Math.max(0, ...(queues ?? []).map((queue) => queue.head_wait_ms ?? 0)) / 1000;
  const waits = flow ? points(flow, 'wait_ms').filter((n) => n !== null) : [];
  const wait = waits.length ? waits[waits.length - 1] / 1000 : null;
  const bad = (jobs.failed ?? 0) + (jobs.rejected ?? 0);
  return html`<section class="card kpis" aria-label=${t('kpi.all')}>
    <${Kpi} to=${jobsHref('state:ready')} glyph="ready" label=${t('kpi.ready')} below=${jobs.ready ? t('kpi.oldest', { span: span(oldest, { short: true }) }) : t('kpi.none')}>${short(jobs.ready)}<//>
    <${Kpi} to=${jobsHref('state:running')} glyph="running" label=${t('kpi.running')} below=${slots === undefined ? '' : t('kpi.free', { free: whole(slots - used), nodes: counted(stats.cluster?.nodes ?? 1, 'node') })}>
      ${whole(jobs.running)}${slots !== undefined && html` <small>${t('kpi.of', { n: whole(slots) })}</small>`}<//>
    <${Kpi} to=${jobsHref('created:>-5m')} label=${t('kpi.rates')} below=${t('kpi.mean')}>${rate(inRate)} <small>${t('kpi.in')}</small> ${rate(outRate)} <small>${t('kpi.out')}</small><//>
    <${Kpi} to=${jobsHref('state:ready', { order: 'dispatch' })} label=${t('kpi.wait')} below=${t('kpi.wait.mean')}>${span(wait, { short: true })}<//>
    <${Kpi} to=${jobsHref('state:retrying')} glyph="retrying" label=${t('kpi.retrying')} below="">${whole(jobs.retrying)}<//>
    <${Kpi} to=${jobsHref('state:failed,rejected')} glyph="rejected" label=${t('kpi.bad')} below=${t('kpi.bad.of', { n: short(sum(Object.values(jobs))) })}>${short(bad)}<//>
  </section>`;
}

function attention({ stats, alerts, queues, rows, step }) {
  const all = [];
  for (const alert of alerts ?? []) {
    all.push({ icon: 'alerts', kind: 'bad', strong: t('att.alert', { rule: alert.rule }), text: alert.detail ?? alert.when, since: alert.since,
      acts: html`<a class="btn small soft" href=${href('alerts')}>${t('open')}</a>` });
  }
  if (stats.jobs.rejected) {
    all.push({ icon: 'errors', kind: 'bad', strong: t('att.rejected', { jobs: counted(stats.jobs.rejected, 'job') }), text: t('att.rejected.text'),
      acts: html`<a class="btn small soft" href=${jobsHref('state:rejected')}>${t('show')}</a>
        <${Act} small onClick=${() => bulk('retry', { q: 'state:rejected' })}>${t('att.retry')}<//>` });
  }
  for (const queue of queues ?? []) {
    if (queue.paused) {
      all.push({ icon: 'pause', kind: '', strong: t('att.paused', { queue: queue.name }), text: [queue.pause_reason, counted(queue.jobs?.ready ?? 0, 'waiting'),
        queue.paused_until && t('att.until', { at: clock(queue.paused_until) })].filter(Boolean).join('; '),
      acts: html`<a class="btn small soft" href=${href('queues', queue.name)}>${t('open')}</a><${Act} small onClick=${() => resumeQueue(queue)}>${t('resume')}<//>` });
    }
  }
  for (const row of rows) {
    const n = starving(row);
    if (n) {
      all.push({ icon: 'schedules', kind: 'warn-t', strong: t('att.starving', { priority: row.key.replace('-', '−') }), text: t('att.starving.text', { span: span(n * step, { short: true }) }),
        acts: html`<a class="btn small soft" href=${jobsHref(`state:ready ${/^-?\d+$/.test(row.key) ? `priority:${row.key}` : 'priority:<0'}`)}>${t('show')}</a>` });
    }
  }
  return all;
}

function Attention({ items }) {
  if (items.length === 0) return null;
  return html`<${Card} title=${t('att.title')} count=${items.length} right=${html`<a class="link" href=${href('alerts')}>${t('att.rules')}</a>`} flush>
    <ul class="att">${items.map((one) => html`<li><span class=${one.kind}><${Icon} name=${one.icon} /></span>
      <div class="what"><b>${one.strong}</b> <${Foreign} text=${one.text} /></div>
      <span class="since">${one.since && html`${t('since')} <${Time} at=${one.since} />`}</span>
      <span class="acts">${one.acts}</span></li>`)}</ul><//>`;
}

const plotLink = (times, step) => (i) => jobsHref(createdBetween(times[i], times[i] + step));

function InOut({ flow }) {
  const { times, step, perSecond } = axis(flow);
  const series = [
    { label: t('flow.added'), colour: 'chart-in', line: 'l-in', values: points(flow, 'added').map(perSecond) },
    { label: t('flow.finished'), colour: 's-done', line: 'l-done', values: points(flow, 'finished').map(perSecond) },
    { label: t('flow.failed'), colour: 's-failed', line: 'l-failed', values: points(flow, 'failed').map(perSecond) },
  ];
  const last = (one) => rate(one.values[one.values.length - 1] ?? 0);
  const link = plotLink(times, step);
  const table = { head: [t('chart.time'), ...series.map((one) => one.label)],
    rows: times.map((time, i) => ({ href: link(i), cells: [clock(time * 1000), ...series.map((one) => rate(one.values[i] ?? 0))] })).reverse() };
  return html`<${ChartCard} title=${t('flow.title')} question=${t('flow.question')} unit=${t('flow.unit')} table=${table}
    legend=${series.map((one) => ({ ...one, value: last(one) }))} summary=${t('flow.summary', { in: last(series[0]), out: last(series[1]) })}>
    <${TimePlot} times=${times} series=${series} format=${short} pick=${link} query=${(i) => createdBetween(times[i], times[i] + step)} /><//>`;
}

/** Arrivals above departures; what lies between waits or runs. Anchored at what is there now. */
function Cumulative({ flow, unfinished }) {
  const { times, step } = axis(flow);
  const added = points(flow, 'added'), left = departures(flow, unfinished);
  const start = Math.max(0, unfinished - sum(added) + sum(left));
  let come = start, gone = 0;
  const arrived = [], ended = [];
  added.forEach((n, i) => {
    come += n;
    gone = Math.min(come, gone + left[i]);
    arrived.push(come);
    ended.push(gone);
  });
  const link = plotLink(times, step);
  const inside = arrived.map((n, i) => n - ended[i]);
  const thin = Math.max(...inside) < 0.03 * Math.max(1, ...arrived);
  const series = thin ? [{ label: t('cum.inside'), colour: 's-ready', line: 'l-ready', area: 'f-ready', values: inside, fill: 0.22 }]
    : [{ label: t('cum.arrived'), colour: 's-ready', line: 'l-ready', area: 'a-ready', values: arrived, fill: 0.22 }, { label: t('cum.ended'), colour: 's-done', line: 'l-done', values: ended, fill: 0.16 }];
  const table = { head: [t('chart.time'), t('cum.arrived'), t('cum.ended'), t('cum.inside')],
    rows: times.map((time, i) => ({ href: link(i), cells: [clock(time * 1000), whole(arrived[i]), whole(Math.round(ended[i])), whole(Math.round(inside[i]))] })).reverse() };
  return html`<${ChartCard} title=${t('cum.title')} question=${t('cum.question')} unit=${thin ? t('cum.bands') : t('cum.unit', { at: clock(times[0] * 1000) })} table=${table}
    legend=${series.map((one) => ({ ...one, value: short(one.values[one.values.length - 1]) }))} summary=${t('cum.summary', { n: whole(Math.round(inside[inside.length - 1])) })}>
    <${TimePlot} times=${times} series=${series} pick=${link} query=${(i) => createdBetween(times[i], times[i] + step)} /><//>`;
}

function emptyIn(queue, inRate, outRate) {
  if (queue.paused) return t('queue.paused');
  const left = drains(queue.jobs?.ready ?? 0, inRate, outRate);
  if (left < 5) return t('queue.now');
  return left === Infinity ? html`<span class="bad">${t('queue.never')}</span>` : t('queue.about', { span: span(left, { short: true }) });
}

function QueueTable({ queues, series }) {
  const rate5 = (metric, name) => (series ? lately(series, metric, 300, name) : null);
  const sparkOf = (name) => {
    const added = points(series, 'added', name), ended = points(series, 'finished', name);
    let n = 0;
    return added.map((x, i) => (n = Math.max(0, n + x - ended[i])));
  };
  const sorted = [...queues].sort((a, b) => (b.jobs?.ready ?? 0) - (a.jobs?.ready ?? 0)).slice(0, 12);
  return html`<${Card} title=${t('page.queues')} count=${queues.length} right=${html`<a class="link" href=${href('queues')}>${t('queue.all')}</a>`} flush>
    <div class="tw"><table class="cards"><thead><tr><th scope="col">${t('queue')}</th><th scope="col" class="num">${t('state.ready')}</th><th scope="col" class="lg">${t('queue.lasthour')}</th>
      <th scope="col" class="num">${t('state.running')}</th><th scope="col" class="lg"><span class="sr">${t('queue.share')}</span></th><th scope="col" class="num">${t('queue.oldest')}</th><th scope="col" class="num lg">${t('queue.in')}</th>
      <th scope="col" class="num lg">${t('queue.out')}</th><th scope="col" class="num">${t('queue.failing')}</th><th scope="col" class="num">${t('queue.empty')}</th></tr></thead>
      <tbody>${sorted.map((queue) => {
        const inRate = rate5('added', queue.name), outRate = rate5('finished', queue.name), failing = rate5('failed', queue.name);
        return html`<tr key=${queue.name}><td class="prime"><a class="strong" href=${href('queues', queue.name)}>${queue.name}</a>${queue.paused && html` <${State} state="paused" />`}</td>
          <td class="num" data-label=${t('state.ready')}><a href=${jobsHref(`state:ready ${term('queue', queue.name)}`)}>${whole(queue.jobs?.ready ?? 0)}</a></td>
          <td class="lg gone">${series && html`<${Spark} values=${sparkOf(queue.name)} />`}</td>
          <td class="num" data-label=${t('state.running')}>${whole(queue.running)}${queue.slots !== null && html` <span class="dim">/ ${queue.slots}</span>`}</td>
          <td class="lg gone">${queue.slots !== null && html`<${Bar} part=${queue.running} of=${queue.slots} />`}</td>
          <td class="num" data-label=${t('queue.oldest')}>${queue.head_wait_ms === null ? '–' : span(queue.head_wait_ms / 1000, { short: true })}</td>
          <td class="num lg gone">${rate(inRate)}</td><td class="num lg gone">${rate(outRate)}</td>
          <td class="num gone">${percent(failing, outRate)}</td>
          <td class="num" data-label=${t('queue.empty')}>${emptyIn(queue, inRate ?? 0, outRate ?? 0)}</td></tr>`;
      })}</tbody></table></div><//>`;
}

export default function Overview({ query }) {
  const range = ranges.includes(query.get('range')) ? query.get('range') : '1h';
  const stats = useApi('stats', {}, { every: 2, rest: 5 });
  const flow = useApi('stats/series', { metric: 'added,started,finished,ok,failed,retry,error,wait_ms', from: `-${range}` }, { every: 5, rest: 20 });
  const byPrio = useApi('stats/series', { metric: 'added,started', by: 'priority', from: `-${range}` }, { every: 10, rest: 30 });
  const byQueue = useApi('stats/series', { metric: 'added,finished,failed', by: 'queue', from: '-1h' }, { every: 10, rest: 30 });
  const queues = useApi('queues', { limit: 200 }, { every: 3 });
  const nodes = useApi('nodes', {}, { every: 3 });
  const alerts = useApi('alerts', {}, { every: 5 });
  if (stats.error && !stats.data) return html`<${Head} title=${t('page.overview')} /><${Trouble} error=${stats.error} retry=${stats.reload} />`;
  if (!stats.data) return html`<${Head} title=${t('page.overview')} /><div class="card"><${Shown} of=${stats} rows=${8} /></div>`;
  if (sum(Object.values(stats.data.jobs)) === 0 && !(queues.data?.items.length > 0)) return html`<${Welcome} />`;
  const inRate = flow.data ? lately(flow.data, 'added') : 0;
  const outRate = flow.data ? lately(flow.data, 'finished') : 0;
  const [title, lead] = flow.data ? verdict(stats.data, queues.data?.items, inRate, outRate) : [t('page.overview'), ' '];
  const rows = byPrio.data ? byPriority(byPrio.data, axis(byPrio.data).perSecond) : [];
  const step = byPrio.data ? axis(byPrio.data).step : 60;
  const items = attention({ stats: stats.data, alerts: alerts.data?.items, queues: queues.data?.items, rows, step });
  return html`<${Head} title=${title} lead=${lead}>
      <${Segments} label=${t('range')} options=${ranges.map((id) => ({ id, label: t(`range.${id}`) }))} chosen=${range} onChoose=${(id) => go(href('', { range: id }), { replace: true })} />
    <//>
    <${Kpis} stats=${stats.data} queues=${queues.data?.items} flow=${flow.data} inRate=${inRate} outRate=${outRate} />
    <${Attention} items=${items} />
    ${flow.data && html`<div class="cols stretch"><${InOut} flow=${flow.data} /><${Cumulative} flow=${flow.data} unfinished=${stats.data.unfinished ?? 0} /></div>`}
    <div class="cols stretch">
      <${ChartCard} title=${t('priority.title')} question=${t('priority.question')} unit=${t('priority.unit')} summary=${t('priority.summary', { n: rows.length })}
        legend=${[{ label: t('flow.added'), line: 'l-in' }, { label: t('flow.started'), line: 'l-run' }, { label: t('priority.gap'), area: 'f-gap' }]}>
        <${Priorities} rows=${rows} /><//>
      <${WaitCard} range=${range} flow=${flow.data} />
    </div>
    ${nodes.data && html`<${Card} title=${t('slots.title')} question=${t('slots.question')} right=${t('slots.nodes', { nodes: counted(nodes.data.items.length, 'node') })}><${Slots} nodes=${nodes.data.items.filter((node) => node.state === 'up' || node.state === 'draining')} /><//>`}
    ${queues.data && queues.data.items.length > 0 && html`<${QueueTable} queues=${queues.data.items} series=${byQueue.data} />`}`;
}
