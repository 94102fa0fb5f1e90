// A form that adds a job, by type or by command.
import { post } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { go, href } from '../lib/place.js';
import { remembered } from '../lib/remember.js';
import { t } from '../lib/text.js';
import { html, useEffect, useState } from '../lib/view.js';
import { Field, numberOf } from '../ui/form.js';
import { Act, Card, Foreign, Head, Segments, Trouble } from '../ui/parts.js';
import { toast } from '../ui/toast.js';

const START = { type: '', command: '', payload: '', encoding: 'text', name: '', queue: '', priority: '', delay: '', run_at: '', max_retries: '', retry_delay: '', max_run_time: '', tags: '', group: '', after: '', held: false };

/** Words of a command line: blanks separate, quotes keep together. */
export function words(text) {
  const all = [];
  for (const found of text.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:[^\s"'\\]|\\.)+)/g)) {
    all.push(found[2] ?? (found[1] ?? found[3]).replace(/\\(.)/g, '$1'));
  }
  return all;
}

const list = (text) => text.split(/[\s,]+/).filter(Boolean);

/** The job object that the fields stand for: only what the reader filled in. */
export function jobOf(kind, fields) {
  const job = kind === 'type' ? { type: fields.type.trim() } : { command: words(fields.command) };
  if (fields.payload !== '') job[fields.encoding === 'base64' ? 'payload_base64' : 'payload'] = fields.payload;
  for (const name of ['name', 'queue', 'delay', 'run_at', 'retry_delay', 'max_run_time', 'group']) if (fields[name].trim()) job[name] = fields[name].trim();
  for (const name of ['priority', 'max_retries']) if (fields[name].trim()) job[name] = numberOf(fields[name]) ?? fields[name];
  if (fields.tags.trim()) job.tags = list(fields.tags);
  if (fields.after.trim()) job.after = list(fields.after);
  if (fields.held) job.held = true;
  return job;
}

function Wants({ handler }) {
  if (!handler) return null;
  const facts = ['lang', 'queue', 'priority', 'max_retries', 'retry_delay', 'max_run_time', 'service_time'].filter((name) => handler[name] !== null && handler[name] !== undefined && handler[name] !== '');
  return html`<${Card} title=${t('add.wants', { type: handler.type ?? handler.name })}><dl class="kv">${facts.map((name) => html`<dt>${name}</dt><dd>${String(handler[name])}</dd>`)}</dl>
    ${handler.body && html`<pre class="bytes" tabindex="0"><${Foreign} text=${handler.body.slice(0, 2000)} /></pre>`}<//>`;
}

export default function Add({ query }) {
  const handlers = useApi('handlers', { limit: 500 }, { live: false });
  const [kind, setKind] = useState(query.get('command') !== null ? 'command' : 'type');
  const [fields, setAll] = useState(() => ({ ...START, ...(query.get('again') ? remembered('again', {}) : {}), ...Object.fromEntries([...query].filter(([name]) => name in START)) }));
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => { if (handlers.data && handlers.data.items.length === 0 && !fields.type) setKind('command'); }, [handlers.data]);
  const types = (handlers.data?.items ?? []).map((one) => one.type ?? one.name);
  const handler = handlers.data?.items.find((one) => (one.type ?? one.name) === fields.type);
  const field = (name, more = {}) => html`<${Field} label=${t(`add.${name}`)} name=${name} hint=${t(`add.${name}.hint`)} value=${fields[name]} error=${error} onChange=${(text) => setAll({ ...fields, [name]: text })} ...${more} />`;
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const { id, job } = await post('jobs', jobOf(kind, fields), { headers: { 'Idempotency-Key': crypto.randomUUID() } });
      toast({ strong: t('add.done'), text: job.name ?? id });
      go(href('jobs', id));
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<${Head} title=${t('page.add')} crumb=${html`<a href=${href('jobs')}>${t('page.jobs')}</a>`} lead=${t('add.lead')} />
    <form class="cols wide-left" onSubmit=${submit} novalidate><div class="stack">
      <${Card}><div class="fields two">
        <div class="whole"><${Segments} label=${t('add.kind')} options=${[{ id: 'type', label: t('add.kind.type') }, { id: 'command', label: t('add.kind.command') }]} chosen=${kind} onChoose=${setKind} /></div>
        ${kind === 'type' ? field('type', { whole: true, list: 'types' }) : field('command', { whole: true, mono: true })}
        <datalist id="types">${types.map((type) => html`<option value=${type}></option>`)}</datalist>
        ${field('payload', { kind: 'textarea', whole: true, mono: true })}
        ${field('encoding', { kind: 'select', options: [{ id: 'text', label: t('add.text') }, { id: 'base64', label: t('add.base64') }] })}${field('name')}
        ${field('queue')}${field('priority', { kind: 'number' })}${field('delay')}${field('run_at')}${field('max_retries', { kind: 'number' })}${field('retry_delay')}${field('max_run_time')}${field('tags')}${field('group')}${field('after')}
        ${field('held', { kind: 'check' })}</div><//>
      ${error && html`<${Trouble} error=${error} />`}
      <div class="row-b"><${Act} scope="enqueue" kind="primary" type="submit" disabled=${busy || (kind === 'type' ? !fields.type.trim() : !fields.command.trim())}>${t('jobs.add')}<//><a class="btn" href=${href('jobs')}>${t('add.leave')}</a></div>
    </div><div class="stack"><${Wants} handler=${kind === 'type' ? handler : null} /></div></form>`;
}
