// Handlers: which types of jobs there are, and what they run.
import { useApi } from '../lib/data.js';
import { counted, when, whole } from '../lib/format.js';
import { href, jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { Icon } from '../ui/icon.js';
import { Empty, Foreign, Head, Shown, Time } from '../ui/parts.js';
import { Pager, Table } from '../ui/table.js';

const columns = (starts) => [
  { id: 'type', label: t('job.type'), prime: true, cell: (one) => html`<a class="strong" href=${href('handlers', one.type)}>${one.type}</a>${!one.enabled && html` <span class="warn-t">${t('handler.off')}</span>`}${one.declared && html` <span class="dim">${t('declared')}</span>`}` },
  { id: 'lang', label: t('handler.lang'), cell: (one) => one.lang }, { id: 'queue', label: t('queue'), cell: (one) => html`<a href=${href('queues', one.queue ?? 'default')}>${one.queue ?? 'default'}</a>` },
  { id: 'body', label: t('handler.body'), whole: true, gone: true, cell: (one) => html`<code class="sub"><${Foreign} text=${(one.body ?? '').split('\n')[0].slice(0, 60)} /></code>` },
  { id: 'starts', label: t('handler.starts'), num: true, cell: (one) => html`<a href=${jobsHref(`${term('type', one.type)} created:>-1h`)}>${whole(starts.get(one.type) ?? 0)}</a>` },
  { id: 'version', label: t('handler.version'), num: true, cell: (one) => one.version }, { id: 'at', label: t('handler.at'), gone: true, lg: true, cell: (one) => html`<${Time} at=${one.created_at} as=${when} />` },
];

export default function Handlers({ query }) {
  const cursor = query.get('cursor') ?? '';
  const handlers = useApi('handlers', { limit: 100, cursor }, { every: 3, rest: 15 });
  const series = useApi('stats/series', { metric: 'started', by: 'type', from: '-1h' }, { every: 10, rest: 30 });
  const starts = new Map((series.data?.items ?? []).map((one) => [one.key, one.total]));
  return html`<${Head} title=${t('page.handlers')} lead=${handlers.data && t('handler.lead', { n: counted(handlers.data.items.length, 'type') })}><a class="btn primary" href=${href('handlers', 'new', 'edit')}><${Icon} name="plus" />${t('handler.new')}</a><//>
    <section class="card" aria-label=${t('page.handlers')}><${Shown} of=${handlers}>${({ items, next_cursor: next }) => (items.length ? html`<${Table} columns=${columns(starts)} rows=${items} keyOf=${(one) => one.type} /><${Pager} path="handlers" cursor=${cursor} next=${next} />` : html`<${Empty} title=${t('handler.none')} actions=${html`<a class="btn primary" href=${href('handlers', 'new', 'edit')}>${t('handler.new')}</a>`}>${t('handler.none.text')}<//>`)}<//></section>`;
}
