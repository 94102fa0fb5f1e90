// Errors: what goes wrong, grouped by message.
import { useApi } from '../lib/data.js';
import { counted, whole } from '../lib/format.js';
import { go, href, jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { bulk } from '../ui/bulk.js';
import { Ago, Act, Empty, Foreign, Head, Shown } from '../ui/parts.js';
import { QueryBox } from '../ui/query.js';
import { Table } from '../ui/table.js';

/** The longest run of words that a message has in common with its group: what a query can find. */
const findable = (group) => group.message.split(/\bN\b|"[^"]*"|'[^']*'/).sort((a, b) => b.length - a.length)[0].trim().slice(0, 100);

const queryOf = (group, states = 'failed,rejected,retrying') => `state:${states} ${term('type', group.type)}${findable(group) ? ` error:${JSON.stringify(findable(group))}` : ''}`;

const columns = () => [
  { id: 'count', label: t('error.count'), num: true, width: 'w-s', cell: (one) => html`<a class="strong" href=${jobsHref(queryOf(one))}>${whole(one.count)}</a>` },
  { id: 'message', label: t('error.message'), prime: true, cell: (one) => html`<div class="two"><div class="a wraptext"><a href=${jobsHref(queryOf(one))}><${Foreign} text=${one.message.slice(0, 300)} /></a></div>${one.example !== one.message && html`<div class="z wraptext"><${Foreign} text=${(one.example ?? '').slice(0, 200)} /></div>`}</div>` },
  { id: 'type', label: t('job.type'), cell: (one) => html`<a class="link" href=${jobsHref(term('type', one.type))}>${one.type}</a>` }, { id: 'queue', label: t('queue'), gone: true, lg: true, cell: (one) => one.queue },
  { id: 'newest', label: t('error.newest'), cell: (one) => html`<a href=${href('jobs', one.newest)}><${Ago} at=${one.newest_at} /></a>` }, { id: 'oldest', label: t('error.oldest'), gone: true, lg: true, cell: (one) => html`<a href=${href('jobs', one.oldest)}><${Ago} at=${one.oldest_at} /></a>` },
  { id: 'acts', label: t('actions'), hidden: true, cell: (one) => html`<div class="rowacts"><${Act} small kind="soft" aria-label=${t('error.retry', { message: one.message.slice(0, 60) })} onClick=${() => bulk('retry', { q: queryOf(one, 'failed,rejected') })}>${t('bulk.retry')}<//></div>` },
];

export default function Errors({ query }) {
  const q = query.get('q') ?? '';
  const errors = useApi('errors', { q }, { every: 5, rest: 30 });
  const jobs = (errors.data?.items ?? []).reduce((sum, one) => sum + one.count, 0);
  const lead = errors.data && t('error.lead', { jobs: counted(jobs, 'job'), groups: counted(errors.data.items.length, 'message') });
  return html`<${Head} title=${t('page.errors')} lead=${lead} />
    <div class="filters"><${QueryBox} q=${q} problem=${errors.error?.code === 'invalid_query' ? errors.error : null} onQuery=${(text) => go(href('errors', { q: text }))} /></div>
    <section class="card" aria-label=${t('page.errors')}><${Shown} of=${errors} rows=${6}>${({ items, partial }) => (items.length ? html`<${Table} columns=${columns()} rows=${[...items].sort((a, b) => b.count - a.count)} keyOf=${(one) => `${one.type} ${one.message}`} />${partial && html`<div class="foot">${t('error.partial')}</div>`}` : html`<${Empty} title=${t('error.none')}>${t('error.none.text')}<//>`)}<//></section>`;
}
