// Audit: who changed what, newest first.
import { useApi } from '../lib/data.js';
import { when } from '../lib/format.js';
import { go, href } from '../lib/place.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { Field } from '../ui/form.js';
import { Empty, Foreign, Head, Shown, Time } from '../ui/parts.js';
import { Pager, Table } from '../ui/table.js';

const filters = ['who', 'action', 'kind', 'target', 'of'];

/** What is different between two objects: "slots 4, was 2". */
function difference(before, after) {
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const text = (x) => (x === undefined || x === null ? t('none') : typeof x === 'object' ? JSON.stringify(x) : String(x));
  return keys.filter((key) => JSON.stringify(before?.[key]) !== JSON.stringify(after?.[key]) && !(before === null && after[key] === null))
    .map((key) => (before?.[key] === undefined ? `${key} ${text(after?.[key])}` : t('was', { name: key, now: text(after?.[key]), was: text(before[key]) })));
}

const target = (row) => (row.kind === 'job' ? href('jobs', row.target) : row.kind === 'queue' ? href('queues', row.target) : null);

const columns = () => [
  { id: 'at', label: t('audit.at'), width: 'w-l', cell: (row) => html`<${Time} at=${row.at} as=${(x) => when(x, { seconds: true })} />` },
  { id: 'who', label: t('audit.who'), cell: (row) => html`<a class="link" href=${href('audit', { who: row.who })}>${row.who}</a> <span class="dim">${row.from}</span>` },
  { id: 'what', label: t('audit.what'), prime: true, cell: (row) => html`<span class="strong">${row.action}</span> ${row.kind} ${target(row) && row.target ? html`<a class="link" href=${target(row)}><${Foreign} text=${row.target} /></a>` : html`<${Foreign} text=${row.target ?? ''} />`}${row.count > 1 ? ` × ${row.count}` : ''}` },
  { id: 'tenant', label: t('tenant'), gone: true, lg: true, cell: (row) => row.tenant ?? '–' },
  { id: 'became', label: t('audit.became'), whole: true, cell: (row) => html`<div class="sub wraptext"><${Foreign} text=${difference(row.before, row.after).join('; ').slice(0, 400)} /></div>` },
];

export default function Audit({ query }) {
  const given = Object.fromEntries(filters.map((name) => [name, query.get(name) ?? '']));
  const cursor = query.get('cursor') ?? '';
  const [fields, setFields] = useState(given);
  const rows = useApi('audit', { limit: 50, cursor, ...given }, { every: 3, rest: 20 });
  const search = (event) => { event.preventDefault(); go(href('audit', fields)); };
  return html`<${Head} title=${t('page.audit')} lead=${t('audit.lead')} />
    <form class="card card-b filterform" onSubmit=${search}>${filters.map((name) => html`<${Field} key=${name} label=${t(`audit.f.${name}`)} name=${name} value=${fields[name]} onChange=${(text) => setFields({ ...fields, [name]: text })} />`)}<button type="submit" class="btn">${t('audit.search')}</button></form>
    <section class="card" aria-label=${t('page.audit')}><${Shown} of=${rows} rows=${8}>${({ items, next_cursor: next }) => (items.length ? html`<${Table} columns=${columns()} rows=${items} keyOf=${(row) => row.id} /><${Pager} path="audit" query=${given} cursor=${cursor} next=${next} />` : html`<${Empty} title=${t('audit.none')}>${t('audit.none.text')}<//>`)}<//></section>`;
}
