// Alerts: what fires now, the rules, and what could not be told to anyone.
import { at, put, remove } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { counted, when } from '../lib/format.js';
import { has } from '../lib/session.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { Ago, Act, Card, Empty, Foreign, Head, Shown, Time } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { toast } from '../ui/toast.js';

const EXAMPLES = ['oldest(default) > 5m', 'failures(*) > 10 in 10m', 'schedule missed', 'disk free < 1G', 'controller stale', 'node lost'];

const editRule = (rule) => ask({
  title: rule ? t('alert.edit', { name: rule.name }) : t('alert.new'), label: t('save'), keep: t('dialog.keep'), fields: { name: rule?.name ?? '', when: rule?.when ?? '', to: (rule?.to ?? ['log']).join('\n') },
  body: ({ fields, setFields, error }) => html`${!rule && html`<${Field} label=${t('alert.name')} name="name" value=${fields.name} error=${error} onChange=${(name) => setFields({ name })} />`}
    <${Field} label=${t('alert.when')} name="when" mono list="whens" hint=${t('alert.when.hint')} value=${fields.when} error=${error} onChange=${(text) => setFields({ when: text })} /><datalist id="whens">${EXAMPLES.map((one) => html`<option value=${one}></option>`)}</datalist>
    <${Field} label=${t('alert.to')} name="to" kind="textarea" mono hint=${t('alert.to.hint')} value=${fields.to} error=${error} onChange=${(to) => setFields({ to })} />`,
  confirm: async (fields) => {
    await put(at('alert-rules', fields.name.trim()), { when: fields.when.trim(), to: fields.to.split('\n').map((line) => line.trim()).filter(Boolean) });
    stir();
    toast({ strong: t('saved'), text: fields.name });
    return true;
  },
});

const removeRule = (rule) => ask({
  title: t('alert.remove.ask', { name: rule.name }), kind: 'danger', label: t('alert.remove.do'), keep: t('dialog.keep'), body: html`<p>${t('alert.remove.text')}</p>`,
  confirm: async () => {
    await remove(at('alert-rules', rule.name));
    stir();
    toast({ strong: t('alert.removed'), text: rule.name, undo: () => put(at('alert-rules', rule.name), { when: rule.when, to: rule.to }).then(stir) });
    return true;
  },
});

function Firing({ items }) {
  if (items.length === 0) return html`<${Empty} title=${t('alert.quiet')}>${t('alert.quiet.text')}<//>`;
  return html`<ul class="att">${items.map((one) => html`<li><span class="bad"><${Icon} name="alerts" /></span><div class="what"><b>${one.rule}:</b> <${Foreign} text=${one.detail ?? one.when} /> <code class="dim">${one.when}</code></div><span class="since"><${Ago} at=${one.since} /></span><span class="acts"></span></li>`)}</ul>`;
}

const ruleColumns = (firing) => [
  { id: 'name', label: t('alert.name'), prime: true, cell: (one) => html`<span class="strong">${one.name}</span>${firing.has(one.name) && html` <span class="bad">${t('alert.fires')}</span>`}${one.declared && html` <span class="dim">${t('declared')}</span>`}` },
  { id: 'when', label: t('alert.when'), cell: (one) => html`<code>${one.when}</code>` }, { id: 'to', label: t('alert.to'), whole: true, cell: (one) => html`<${Foreign} text=${one.to.join(', ')} />` },
  { id: 'acts', label: t('actions'), hidden: true, cell: (one) => html`<div class="rowacts"><${Act} small kind="soft" scope="admin" disabled=${one.declared} aria-label=${t('alert.edit', { name: one.name })} onClick=${() => editRule(one)}>${t('alert.change')}<//>
    <${Act} small kind="danger-quiet" scope="admin" disabled=${one.declared} aria-label=${t('alert.remove.of', { name: one.name })} onClick=${() => removeRule(one)}>${t('alert.remove')}<//></div>` },
];

const noticeColumns = () => [
  { id: 'to', label: t('alert.to'), prime: true, cell: (one) => html`<${Foreign} text=${one.to} />` }, { id: 'state', label: t('col.state'), cell: (one) => one.state },
  { id: 'tries', label: t('alert.tries'), num: true, cell: (one) => one.tries }, { id: 'next', label: t('alert.next'), cell: (one) => html`<${Time} at=${one.next_try_at} as=${when} />` },
  { id: 'error', label: t('col.error'), whole: true, cell: (one) => html`<${Foreign} text=${one.error ?? ''} />` },
];

export default function Alerts() {
  const alerts = useApi('alerts', {}, { every: 2, rest: 10 });
  const rules = useApi('alert-rules', {}, { every: 5, rest: 20 });
  const notices = useApi(has('notices') ? 'notices' : null, {}, { every: 5, rest: 20 });
  const firing = new Set((alerts.data?.items ?? []).map((one) => one.rule));
  const lead = alerts.data && (firing.size ? t('alert.lead', { rules: counted(firing.size, 'rule') }) : t('alert.lead.quiet'));
  return html`<${Head} title=${t('page.alerts')} lead=${lead}><${Act} scope="admin" kind="primary" onClick=${() => editRule(null)}><${Icon} name="plus" />${t('alert.new')}<//><//>
    <${Card} title=${t('alert.now')} count=${alerts.data?.items.length} flush><${Shown} of=${alerts} rows=${1}>${({ items }) => html`<${Firing} items=${items} />`}<//><//>
    <${Card} title=${t('alert.rules')} count=${rules.data?.items.length} flush><${Shown} of=${rules} rows=${2}>${({ items }) => (items.length ? html`<${Table} columns=${ruleColumns(firing)} rows=${items} keyOf=${(one) => one.name} />` : html`<${Empty} title=${t('alert.none')}>${t('alert.none.text')}<//>`)}<//><//>
    ${notices.data?.items.length > 0 && html`<${Card} title=${t('alert.notices')} count=${notices.data.items.length} flush><${Table} columns=${noticeColumns()} rows=${notices.data.items} keyOf=${(one) => one.id} /><//>`}`;
}
