// Queues: which there are, how full, how fast.
import { at, put } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { counted, rate, span, whole } from '../lib/format.js';
import { go, href, jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { drains } from '../lib/ready.js';
import { lately } from '../lib/series.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { Bar } from '../charts/small.js';
import { pauseQueue, resumeQueue, stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { Act, Empty, Head, Shown, State } from '../ui/parts.js';

const makeQueue = () => ask({
  title: t('queue.new'), fields: { name: '' }, label: t('queue.make'), keep: t('dialog.close'),
  body: ({ fields, setFields, error }) => html`<${Field} label=${t('queue.name')} name="name" value=${fields.name} hint=${t('queue.name.hint')} error=${error} onChange=${(name) => setFields({ name })} />`,
  confirm: async ({ name }) => {
    await put(at('queues', name.trim()), {});
    stir();
    go(href('queues', name.trim()));
    return true;
  },
});

function emptyIn(queue, series) {
  if (queue.paused) return t('queue.paused');
  const left = drains(queue.jobs?.ready ?? 0, lately(series, 'added', 300, queue.name), lately(series, 'finished', 300, queue.name));
  if (left < 5) return t('queue.now');
  return left === Infinity ? html`<span class="bad">${t('queue.never')}</span>` : t('queue.about', { span: span(left, { short: true }) });
}

function Row({ queue, series }) {
  const jobs = (state) => html`<a href=${jobsHref(`state:${state} ${term('queue', queue.name)}`)}>${whole(queue.jobs?.[state] ?? 0)}</a>`;
  return html`<tr><td class="prime"><div class="two"><div class="a"><a href=${href('queues', queue.name)}>${queue.name}</a>${queue.paused && html` <${State} state="paused" />`}</div>
      ${(queue.pause_reason || queue.declared) && html`<div class="z">${queue.pause_reason ?? t('declared')}</div>`}</div></td>
    <td class="num" data-label=${t('state.ready')}>${jobs('ready')}</td>
    <td class="num" data-label=${t('state.running')}>${whole(queue.running)}${queue.slots !== null && html` <span class="dim">/ ${queue.slots}</span>`}</td>
    <td class="w-a gone">${queue.slots !== null && html`<${Bar} part=${queue.running} of=${queue.slots} />`}</td>
    <td class="num gone">${jobs('retrying')}</td><td class="num gone">${jobs('rejected')}</td>
    <td class="num" data-label=${t('queue.oldest')}>${queue.head_wait_ms === null ? '–' : span(queue.head_wait_ms / 1000, { short: true })}</td>
    <td class="num lg gone">${series ? rate(lately(series, 'added', 300, queue.name)) : '–'}</td><td class="num lg gone">${series ? rate(lately(series, 'finished', 300, queue.name)) : '–'}</td>
    <td class="num" data-label=${t('queue.empty')}>${series ? emptyIn(queue, series) : '–'}</td>
    <td><div class="rowacts">${queue.paused ? html`<${Act} small kind="soft" onClick=${() => resumeQueue(queue)}>${t('resume')}<//>` : html`<${Act} small kind="soft" onClick=${() => pauseQueue(queue)} aria-label=${t('queue.pause.of', { name: queue.name })}>${t('queue.pause')}<//>`}</div></td></tr>`;
}

export default function Queues({ query }) {
  const cursor = query.get('cursor') ?? '';
  const queues = useApi('queues', { limit: 100, cursor }, { every: 2 });
  const series = useApi('stats/series', { metric: 'added,finished', by: 'queue', from: '-10m' }, { every: 10, rest: 30 });
  const items = queues.data?.items ?? [];
  const waiting = items.reduce((sum, queue) => sum + (queue.jobs?.ready ?? 0), 0);
  const paused = items.filter((queue) => queue.paused).length;
  const lead = queues.data && t('queues.lead', { jobs: counted(waiting, 'waiting'), queues: counted(items.length, 'queue'), paused: paused ? t('queues.paused', { n: paused }) : '' });
  return html`<${Head} title=${t('page.queues')} lead=${lead}><${Act} scope="admin" kind="primary" onClick=${makeQueue}><${Icon} name="plus" />${t('queue.new')}<//><//>
    <section class="card" aria-label=${t('page.queues')}><${Shown} of=${queues}>${() => (items.length === 0 ? html`<${Empty} title=${t('queues.none')}>${t('queues.none.text')}<//>` : html`
      <div class="tw"><table class="cards"><thead><tr><th scope="col">${t('queue')}</th><th scope="col" class="num">${t('state.ready')}</th><th scope="col" class="num">${t('state.running')}</th><th scope="col"><span class="sr">${t('queue.share')}</span></th>
        <th scope="col" class="num">${t('state.retrying')}</th><th scope="col" class="num">${t('state.rejected')}</th><th scope="col" class="num">${t('queue.oldest')}</th><th scope="col" class="num lg">${t('queue.in')}</th><th scope="col" class="num lg">${t('queue.out')}</th>
        <th scope="col" class="num">${t('queue.empty')}</th><th scope="col"><span class="sr">${t('actions')}</span></th></tr></thead>
      <tbody>${items.map((queue) => html`<${Row} key=${queue.name} queue=${queue} series=${series.data} />`)}</tbody></table></div>
      ${(queues.data.next_cursor || cursor) && html`<div class="foot"><span class="r">${cursor && html`<a class="btn small soft" href=${href('queues')}>${t('first')}</a>`}
        ${queues.data.next_cursor && html`<a class="btn small soft" href=${href('queues', { cursor: queues.data.next_cursor })}>${t('next')}</a>`}</span></div>`}`)}<//></section>`;
}
