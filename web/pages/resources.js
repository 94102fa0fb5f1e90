// Resources: how much there is, who holds it, who waits.
import { at, put, remove } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { whole } from '../lib/format.js';
import { href } from '../lib/place.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { Bar } from '../charts/small.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field, numberOf } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { Act, Empty, Head, Shown } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { toast } from '../ui/toast.js';

function bodyOf(fields) {
  const body = { kind: fields.kind, scope: fields.scope };
  if (fields.kind === 'quantity') body.quantity = numberOf(fields.quantity) ?? fields.quantity;
  if (fields.kind === 'discrete') body.list = fields.list.split(/[\s,]+/).filter(Boolean);
  if (fields.kind !== 'highlander' && fields.consumption.trim()) body.consumption = numberOf(fields.consumption) ?? fields.consumption;
  return body;
}

const edit = (one) => ask({
  title: one ? t('resource.edit', { key: one.key }) : t('resource.new'), label: t('save'), keep: t('dialog.keep'),
  fields: { key: one?.key ?? '', kind: one?.kind ?? 'quantity', scope: one?.scope ?? 'node', quantity: String(one?.quantity ?? 10), list: (one?.list ?? []).join(', '), consumption: one?.consumption === undefined ? '' : String(one.consumption) },
  body: ({ fields, setFields, error }) => html`<div class="fields two">${!one && html`<${Field} whole label=${t('resource.key')} name="key" value=${fields.key} error=${error} onChange=${(key) => setFields({ key })} />`}
    <${Field} label=${t('resource.kind')} name="kind" kind="select" options=${['quantity', 'discrete', 'highlander']} hint=${t('resource.kind.hint')} value=${fields.kind} onChange=${(kind) => setFields({ kind })} />
    <${Field} label=${t('resource.scope')} name="scope" kind="select" options=${['node', 'cluster']} hint=${t('resource.scope.hint')} value=${fields.scope} error=${error} onChange=${(scope) => setFields({ scope })} />
    ${fields.kind === 'quantity' && html`<${Field} label=${t('resource.quantity')} name="quantity" kind="number" value=${fields.quantity} error=${error} onChange=${(quantity) => setFields({ quantity })} />`}
    ${fields.kind === 'discrete' && html`<${Field} whole label=${t('resource.list')} name="list" hint=${t('add.tags.hint')} value=${fields.list} error=${error} onChange=${(list) => setFields({ list })} />`}
    ${fields.kind !== 'highlander' && html`<${Field} label=${t('resource.consumption')} name="consumption" kind="number" hint=${t('resource.consumption.hint')} value=${fields.consumption} error=${error} onChange=${(consumption) => setFields({ consumption })} />`}</div>`,
  confirm: async (fields) => { await put(at('resources', fields.key.trim()), bodyOf(fields)); stir(); toast({ strong: t('saved'), text: fields.key }); return true; },
});

const drop = (one) => ask({
  title: t('resource.remove.ask', { key: one.key }), kind: 'danger', label: t('resource.remove.do'), keep: t('dialog.keep'), body: html`<p>${t('resource.remove.text')}</p>`,
  confirm: async () => { await remove(at('resources', one.key)); stir(); toast({ strong: t('resource.removed'), text: one.key }); return true; },
});

const holder = (one) => (typeof one === 'string' ? one : one.id ?? one.job ?? '');
const amount = (one) => (typeof one === 'string' ? '' : one.items?.join(', ') ?? one.quantity ?? one.amount ?? one.n ?? '');
const total = (one) => one.quantity ?? one.list?.length ?? 1;

const columns = () => [
  { id: 'key', label: t('resource.key'), prime: true, cell: (one) => html`<span class="strong">${one.key}</span>${one.declared && html` <span class="dim">${t('declared')}</span>`}` }, { id: 'kind', label: t('resource.kind'), cell: (one) => `${one.kind}, ${one.scope}` },
  { id: 'use', label: t('resource.use'), num: true, cell: (one) => `${whole(one.in_use)} / ${whole(total(one))}` }, { id: 'bar', label: t('resource.use'), hidden: true, gone: true, width: 'w-l', cell: (one) => html`<${Bar} part=${one.in_use} of=${total(one)} label=${t('resource.share', { used: one.in_use, total: total(one) })} />` },
  { id: 'holders', label: t('resource.holders'), whole: true, cell: (one) => (one.holders?.length ? one.holders.slice(0, 6).map((x) => html`<a class="link mono" href=${href('jobs', holder(x))}>${holder(x)}</a> <span class="dim">${amount(x)}</span> `) : t('none')) }, { id: 'waiting', label: t('resource.waiting'), num: true, cell: (one) => whole(one.waiting) },
  { id: 'acts', label: t('actions'), hidden: true, cell: (one) => html`<div class="rowacts"><${Act} small kind="soft" scope="admin" disabled=${one.declared} aria-label=${t('resource.edit', { key: one.key })} onClick=${() => edit(one)}>${t('alert.change')}<//><${Act} small kind="danger-quiet" scope="admin" disabled=${one.declared} aria-label=${t('resource.remove.of', { key: one.key })} onClick=${() => drop(one)}>${t('alert.remove')}<//></div>` },
];

export default function Resources() {
  const resources = useApi('resources', { limit: 200 }, { every: 2, rest: 10 });
  const items = resources.data?.items ?? [];
  const short = items.filter((one) => one.waiting > 0);
  return html`<${Head} title=${t('page.resources')} lead=${resources.data && (short.length ? t('resource.lead', { keys: short.map((one) => one.key).join(', ') }) : t('resource.lead.free'))}><${Act} scope="admin" kind="primary" onClick=${() => edit(null)}><${Icon} name="plus" />${t('resource.new')}<//><//>
    <section class="card" aria-label=${t('page.resources')}><${Shown} of=${resources}>${() => (items.length ? html`<${Table} columns=${columns()} rows=${items} keyOf=${(one) => one.key} />` : html`<${Empty} title=${t('resource.none')}>${t('resource.none.text')}<//>`)}<//></section>`;
}
