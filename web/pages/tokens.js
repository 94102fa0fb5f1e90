// Tenants and tokens: whose work it is, how much they may have, and who may come in.
import { at, post, put, remove } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { ago, bytes, short, until, when, whole } from '../lib/format.js';
import { identity, setTenant, signIn } from '../lib/session.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field, numberOf } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { Act, Card, CodeBox, Empty, Foreign, Head, Shown, Time } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { toast } from '../ui/toast.js';

const scopes = ['read', 'enqueue', 'work', 'operate', 'admin'];

async function makeToken() {
  const made = await ask({
    title: t('token.new'), label: t('token.make'), keep: t('dialog.close'), fields: { name: '', tenant: '', expires_in: 'P30D', read: true },
    body: ({ fields, setFields, error }) => html`<${Field} label=${t('token.name')} name="name" hint=${t('token.name.hint')} value=${fields.name} error=${error} onChange=${(name) => setFields({ name })} />
      <fieldset class="scopes"><legend class="label">${t('token.scopes')}</legend>${scopes.map((scope) => html`<${Field} kind="check" label=${t(`scope.${scope}`)} value=${fields[scope] ?? false} onChange=${(on) => setFields({ [scope]: on })} />`)}</fieldset>
      <${Field} label=${t('token.tenant')} name="tenant" hint=${t('token.tenant.hint')} value=${fields.tenant} error=${error} onChange=${(tenant) => setFields({ tenant })} />
      <${Field} label=${t('token.expires')} name="expires_in" hint=${t('token.expires.hint')} value=${fields.expires_in} error=${error} onChange=${(text) => setFields({ expires_in: text })} />`,
    confirm: (fields) => {
      const body = { name: fields.name.trim(), scopes: scopes.filter((scope) => fields[scope]) };
      if (fields.tenant.trim()) body.tenant = fields.tenant.trim();
      if (fields.expires_in.trim()) body.expires_in = fields.expires_in.trim();
      return post('tokens', body);
    },
  });
  if (!made) return;
  if (identity.get()?.tokens === false) signIn(made.token); // the first one closes the daemon, to this tab too
  stir();
  await ask({ title: t('token.made', { name: made.name }), keep: t('dialog.close'), body: html`<p>${t('token.once')}</p><${CodeBox} text=${made.token} />` });
}

const revoke = (token) => ask({
  title: t('token.revoke.ask', { name: token.name }), kind: 'danger', label: t('token.revoke.do'), keep: t('token.keep'), body: html`<p>${t('token.revoke.text')}</p>`,
  confirm: async () => {
    await remove(at('tokens', token.name));
    stir();
    toast({ strong: t('token.revoked'), text: token.name });
    return true;
  },
});

const limits = ['max_queued', 'max_running', 'max_requests', 'max_bytes'];

const editTenant = (tenant) => ask({
  title: t('tenant.edit', { name: tenant.name }), label: t('save'), keep: t('dialog.keep'), fields: { segregate_types: tenant.segregate_types, ...Object.fromEntries(limits.map((name) => [name, String(tenant[name] ?? 0)])) },
  body: ({ fields, setFields, error }) => html`<div class="fields two">${limits.map((name) => html`<${Field} label=${t(`tenant.${name}`)} name=${name} kind="number" hint=${t('tenant.zero')} value=${fields[name]} error=${error} onChange=${(text) => setFields({ [name]: text })} />`)}
    <${Field} kind="check" whole label=${t('tenant.segregate')} value=${fields.segregate_types} onChange=${(on) => setFields({ segregate_types: on })} /></div>`,
  confirm: async (fields) => {
    await put(at('tenants', tenant.name), { segregate_types: fields.segregate_types, ...Object.fromEntries(limits.map((name) => [name, numberOf(fields[name]) ?? fields[name]])) });
    stir();
    toast({ strong: t('saved'), text: tenant.name });
    return true;
  },
});

const tokenColumns = () => [
  { id: 'name', label: t('token.name'), prime: true, cell: (one) => html`<span class="strong">${one.name}</span>${one.expired && html` <span class="bad">${t('token.expired')}</span>`}` },
  { id: 'scopes', label: t('token.scopes'), cell: (one) => one.scopes.join(', ') }, { id: 'tenant', label: t('tenant'), cell: (one) => (one.tenant === '*' ? t('token.all') : one.tenant) },
  { id: 'expires', label: t('token.expires'), cell: (one) => (one.expires_at ? html`<${Time} at=${one.expires_at} as=${until} />` : t('time.never')) },
  { id: 'used', label: t('token.used'), cell: (one) => (one.last_used_at ? html`<${Time} at=${one.last_used_at} as=${ago} /> ${one.last_used_from ? html`<span class="dim">${one.last_used_from}</span>` : ''}` : t('time.never')) },
  { id: 'made', label: t('token.madeat'), gone: true, lg: true, cell: (one) => html`<${Time} at=${one.created_at} as=${when} /> <span class="dim"><${Foreign} text=${one.created_by ?? ''} /></span>` },
  { id: 'acts', label: t('actions'), hidden: true, cell: (one) => html`<div class="rowacts"><${Act} small kind="danger-quiet" scope="admin" aria-label=${t('token.revoke.of', { name: one.name })} onClick=${() => revoke(one)}>${t('token.revoke')}<//></div>` },
];

const tenantColumns = () => [
  { id: 'name', label: t('tenant'), prime: true, cell: (one) => html`<button type="button" class="textb strong" onClick=${() => setTenant(one.name === 'default' ? null : one.name)}>${one.name}</button>${one.declared && html` <span class="dim">${t('declared')}</span>`}` },
  ...['ready', 'running', 'rejected'].map((state) => ({ id: state, label: t(`state.${state}`), num: true, cell: (one) => whole(one.jobs?.[state] ?? 0) })),
  { id: 'stored', label: t('tenant.stored'), num: true, gone: true, cell: (one) => short(Object.values(one.jobs ?? {}).reduce((a, b) => a + b, 0)) },
  { id: 'bytes', label: t('tenant.bytes'), num: true, gone: true, cell: (one) => bytes(one.stored_bytes) },
  { id: 'limits', label: t('tenant.limits'), lg: true, gone: true, cell: (one) => limits.filter((name) => one[name]).map((name) => `${t(`tenant.${name}`)} ${whole(one[name])}`).join(', ') || t('none') },
  { id: 'acts', label: t('actions'), hidden: true, cell: (one) => html`<div class="rowacts"><${Act} small kind="soft" scope="admin" disabled=${one.declared} aria-label=${t('tenant.edit', { name: one.name })} onClick=${() => editTenant(one)}>${t('tenant.change')}<//></div>` },
];

export default function Tokens() {
  const tokens = useApi('tokens', { limit: 200 }, { every: 5, rest: 20 });
  const tenants = useApi('tenants', { limit: 200 }, { every: 5, rest: 20 });
  return html`<${Head} title=${t('page.tokens')} lead=${tokens.data && t(tokens.data.items.length ? 'token.lead' : 'token.lead.open')}><${Act} scope="admin" kind="primary" onClick=${makeToken}><${Icon} name="plus" />${t('token.new')}<//><//>
    <${Card} title=${t('token.title')} count=${tokens.data?.items.length} flush><${Shown} of=${tokens} rows=${2}>${({ items }) => (items.length ? html`<${Table} columns=${tokenColumns()} rows=${items} keyOf=${(one) => one.name} />` : html`<${Empty} title=${t('token.none')}>${t('token.none.text')}<//>`)}<//><//>
    <${Card} title=${t('tenant.title')} count=${tenants.data?.items.length} flush><${Shown} of=${tenants} rows=${2}>${({ items }) => html`<${Table} columns=${tenantColumns()} rows=${items} keyOf=${(one) => one.name} />`}<//><//>`;
}
