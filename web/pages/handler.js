// One handler: its editor, a test run, its versions and what changed between them.
import { at, post, put, remove } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { lineDiff } from '../lib/diff.js';
import { ago, span, when } from '../lib/format.js';
import { go, href, jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html, useEffect, useState } from '../lib/view.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field, numberOf } from '../ui/form.js';
import { Act, Card, Empty, Foreign, Head, Shown, Time, Trouble } from '../ui/parts.js';
import { toast, toastProblem } from '../ui/toast.js';

const LANGS = ['exec', 'sh', 'bash', 'node', 'python', 'perl', 'php', 'ruby', 'lua', 'http', 'pull'];

/** Fields of the editor: name → kind. Objects are edited as JSON. */
const fieldKinds = {
  lang: LANGS, queue: 'text', priority: 'number', max_run_time: 'text', service_time: 'text', max_retries: 'number', retry_delay: 'text', retry_window: 'text',
  then: 'text', on_error: 'text', user: 'text', cwd: 'text', eid: 'text', batch: 'number', resources: 'json', env: 'json', exit_map: 'json', headers: 'json', highlander: 'check', keep_result: 'check', keep_state: 'check', files: 'check',
};
const codes = ['before', 'beforeEach', 'afterEach'];

const shown = (kind, value) => (value === null || value === undefined ? (kind === 'check' ? false : '') : kind === 'json' ? (Object.keys(value).length ? JSON.stringify(value) : '') : kind === 'check' ? value : String(value));

function fieldsOf(handler) {
  const all = { body: handler?.body ?? '' };
  for (const name of codes) all[name] = handler?.[name] ?? '';
  for (const [name, kind] of Object.entries(fieldKinds)) all[name] = shown(kind, handler?.[name]);
  if (!all.lang) all.lang = 'sh';
  if (!handler) all.keep_result = true;
  return all;
}

function valueOf(kind, text) {
  if (kind === 'check') return text;
  if (String(text).trim() === '') return undefined;
  if (kind === 'number') return numberOf(text) ?? text;
  if (kind !== 'json') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The handler object that the editor stands for. */
function objectOf(fields) {
  const all = {};
  if (fields.body !== '') all.body = fields.body;
  for (const name of codes) if (fields[name].trim()) all[name] = fields[name];
  for (const [name, kind] of Object.entries(fieldKinds)) {
    const value = valueOf(kind, fields[name]);
    if (value !== undefined) all[name] = value;
  }
  return all;
}

function Editor({ type, fields, setFields, error, fresh, setType }) {
  const [more, setMore] = useState(false);
  const set = (name) => (value) => setFields({ ...fields, [name]: value });
  const few = ['lang', 'queue', 'priority', 'max_run_time', 'max_retries', 'retry_delay'];
  const field = (name) => html`<${Field} key=${name} label=${name} name=${name} kind=${Array.isArray(fieldKinds[name]) ? 'select' : fieldKinds[name] === 'json' ? 'text' : fieldKinds[name]} mono=${fieldKinds[name] === 'json'} options=${Array.isArray(fieldKinds[name]) ? fieldKinds[name] : undefined} hint=${fieldKinds[name] === 'json' ? 'JSON' : undefined} value=${fields[name]} error=${error} onChange=${set(name)} />`;
  return html`<div class="fields">${fresh && html`<${Field} label=${t('job.type')} name="type" value=${type} hint=${t('handler.type.hint')} error=${error} onChange=${setType} />`}
    <${Field} label=${t('handler.body')} name="body" kind="textarea" mono rows="12" hint=${t('handler.body.hint')} value=${fields.body} error=${error} onChange=${set('body')} />
    <div class="fields two">${few.map(field)}</div>
    <button type="button" class="btn soft" aria-expanded=${String(more)} onClick=${() => setMore(!more)}>${t('handler.more')}</button>
    ${more && html`<div class="fields two">${Object.keys(fieldKinds).filter((name) => !few.includes(name)).map(field)}${codes.map((name) => html`<${Field} key=${name} label=${name} name=${name} kind="textarea" mono value=${fields[name]} error=${error} onChange=${set(name)} />`)}</div>`}</div>`;
}

function Trial({ type, object }) {
  const [payload, setPayload] = useState('');
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      setResult(await post(at('handlers', type || 'trial', 'test'), { payload, handler: object }));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  return html`<${Card} title=${t('handler.try')} question=${t('handler.try.question')}><div class="fields"><${Field} label=${t('job.payload')} name="payload" kind="textarea" mono value=${payload} onChange=${setPayload} />
    <div class="row-b"><${Act} scope="admin" disabled=${busy} onClick=${run}>${t('handler.try.do')}<//></div>
    ${error && html`<${Trouble} error=${error} />`}
    ${result && html`<div role="status"><p class=${result.code === 'ok' ? 'good strong' : 'bad strong'}>${result.code} ${result.exitcode ?? ''} <span class="dim">${span((result.run_ms ?? 0) / 1000)}</span></p>
      ${result.error && html`<p class="bad"><${Foreign} text=${result.error} /></p>`}${result.result !== null && html`<p>${t('job.tab.result')}: <code><${Foreign} text=${String(result.result)} /></code></p>`}
      ${['stdout', 'stderr'].filter((name) => result[name]).map((name) => html`<p class="label">${name}</p><pre class="bytes" tabindex="0"><${Foreign} text=${result[name]} /></pre>`)}
      ${(result.jobs ?? []).length > 0 && html`<p class="dim">${t('handler.try.jobs', { n: result.jobs.length })}</p>`}</div>`}</div><//>`;
}

async function rollback(type, version) {
  try {
    await post(at('handlers', type, 'rollback'), { version });
    stir();
    toast({ strong: t('handler.rolled', { version }), text: type });
  } catch (problem) {
    toastProblem(problem);
  }
}

function Versions({ type, items }) {
  const [open, setOpen] = useState(null);
  return html`<${Card} title=${t('handler.versions')} count=${items.length} flush><ul class="att versions">${items.map((one, i) => html`<li key=${one.version}><span class="dim">${one.version}</span><div class="what"><${Time} at=${one.created_at} as=${(x) => `${when(x)}, ${ago(x)}`} />
      ${open === one.version && html`<pre class="bytes diff" tabindex="0">${lineDiff(items[i + 1]?.body ?? '', one.body ?? '').map((line) => html`<span class=${line.kind}>${{ same: '  ', less: '− ', more: '+ ' }[line.kind]}<${Foreign} text=${line.text} />${'\n'}</span>`)}</pre>`}</div><span class="since"></span>
      <span class="acts"><button type="button" class="btn small soft" aria-expanded=${String(open === one.version)} onClick=${() => setOpen(open === one.version ? null : one.version)}>${t('handler.diff')}</button>${i > 0 && html`<${Act} small scope="admin" onClick=${() => rollback(type, one.version)}>${t('handler.rollback')}<//>`}</span></li>`)}</ul><//>`;
}

async function toggle(handler) {
  try {
    await post(at('handlers', handler.type, handler.enabled ? 'disable' : 'enable'));
    stir();
    toast({ strong: t(handler.enabled ? 'handler.disabled' : 'handler.enabled'), text: handler.type, undo: () => toggle({ ...handler, enabled: !handler.enabled }) });
  } catch (problem) {
    toastProblem(problem);
  }
}

const drop = (handler) => ask({
  title: t('handler.remove.ask', { type: handler.type }), kind: 'danger', label: t('handler.remove.do'), keep: t('dialog.keep'), body: html`<p>${t('handler.remove.text')}</p>`,
  confirm: async () => { await remove(at('handlers', handler.type)); stir(); toast({ strong: t('handler.removed'), text: handler.type }); go(href('handlers')); return true; },
});

export default function Handler({ type: named, what }) {
  const fresh = named === 'new' && what === 'edit';
  const handler = useApi(fresh ? null : `handlers/${encodeURIComponent(named)}`, {}, { every: 5, rest: 30 });
  const versions = useApi(fresh || !handler.data ? null : `handlers/${encodeURIComponent(named)}/versions`, {}, { every: 5, rest: 30 });
  const [type, setType] = useState(fresh ? '' : named);
  const [fields, setFields] = useState(fresh ? fieldsOf(null) : null);
  const [error, setError] = useState(null);
  const version = handler.data?.version;
  useEffect(() => { if (handler.data) setFields(fieldsOf(handler.data)); }, [version]);
  const crumb = html`<a href=${href('handlers')}>${t('page.handlers')}</a>`;
  if (!fields) return html`<${Head} title=${named} crumb=${crumb} />${handler.error ? html`<${Trouble} error=${handler.error} retry=${handler.reload} />` : html`<div class="card"><${Shown} of=${handler} /></div>`}`;
  const it = handler.data;
  const save = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      const made = await put(at('handlers', type.trim()), objectOf(fields));
      stir();
      toast({ strong: t('handler.saved', { version: made.version }), text: made.type });
      if (fresh) go(href('handlers', made.type));
      else { handler.reload(); versions.reload(); }
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<${Head} title=${fresh ? t('handler.new') : named} crumb=${crumb} badge=${it && !it.enabled && html`<span class="b s-held">${t('handler.off')}</span>`} lead=${it && html`${t('handler.lead.one', { version: it.version, lang: it.lang })} <a href=${jobsHref(term('type', named))}>${t('page.jobs')}</a>`}>
      ${it && html`<a class="btn" href=${href('jobs', 'new', { type: named })}>${t('jobs.add')}</a><${Act} scope="admin" onClick=${() => toggle(it)}>${t(it.enabled ? 'handler.disable' : 'handler.enable')}<//><${Act} scope="admin" kind="danger-quiet" disabled=${it.declared} onClick=${() => drop(it)}>${t('handler.remove')}<//>`}<//>
    <div class="cols wide-left"><form class="stack" onSubmit=${save} novalidate><${Card} title=${t('handler.edit')} right=${it?.declared ? t('declared') : ''}><${Editor} type=${type} setType=${setType} fields=${fields} setFields=${setFields} error=${error} fresh=${fresh} /><//>
      ${error && html`<${Trouble} error=${error} />`}<div class="row-b"><${Act} scope="admin" kind="primary" type="submit" disabled=${it?.declared || !type.trim()}>${t('handler.save')}<//></div></form>
    <div class="stack"><${Trial} type=${type} object=${objectOf(fields)} />${versions.data?.items.length > 0 ? html`<${Versions} type=${named} items=${versions.data.items} />` : html`<${Card} title=${t('handler.versions')}><${Empty} title=${t('handler.noversion')} /><//>`}</div></div>`;
}
