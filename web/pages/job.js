// One job: what it is, what happened, why it waits, what it printed, what it was given.
import { ask as request, at, post } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { ago, secondsBetween, secondsSince, secondsUntil, span, until, when } from '../lib/format.js';
import { useKeys } from '../lib/keys.js';
import { go, href, jobsHref } from '../lib/place.js';
import { finalStates, term } from '../lib/query.js';
import { remember } from '../lib/remember.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { Timeline } from '../charts/timeline.js';
import { act, actions, allowedFor, askPriority, changeable } from '../ui/actions.js';
import { Icon } from '../ui/icon.js';
import { JobEvents } from '../ui/jobevents.js';
import { Log } from '../ui/log.js';
import { Menu } from '../ui/menu.js';
import { Act, Card, Copy, Foreign, Head, Shown, State, Time, Trouble } from '../ui/parts.js';
import { Payload } from '../ui/payload.js';
import { Relations } from '../ui/relations.js';
import { toast, toastProblem } from '../ui/toast.js';
import { Explain } from '../ui/explain.js';

/** Reads a job and keeps the text it came in, so that its payload can be shown exactly. */
async function readJob(path, query, options) {
  const text = await (await request('GET', path, { query, ...options })).text();
  return Object.assign(JSON.parse(text), { raw: text });
}

function badgeWords(job) {
  if (job.state === 'retrying' || job.state === 'deferred') return until(job.dt);
  if (job.state === 'running' && job.progress !== null) return `${job.progress} %`;
  return job.cancelling ? t('job.cancelling') : null;
}

function Facts({ job }) {
  const ran = job.finished_at ? secondsBetween(job.started_at, job.finished_at) : (job.started_at ? secondsSince(job.started_at) : null);
  const facts = [
    ['queue', html`<a class="link" href=${href('queues', job.queue)}>${job.queue}</a>`], ['priority', String(job.priority).replace('-', '−')],
    ['attempts', t('job.attempts.of', { n: job.attempt, of: job.max_retries + 1 })],
    ['created', html`<${Time} at=${job.created_at} as=${(x) => `${when(x, { seconds: true })}, ${ago(x)}`} />`],
    [job.finished_at ? 'lastrun' : 'runs', ran === null ? '–' : span(ran)], ['node', job.node ?? '–'],
  ];
  if (job.message) facts.push(['message', html`<${Foreign} text=${job.message} />`]);
  if (job.run_at && secondsUntil(job.run_at) > 0) facts.push(['due', html`<${Time} at=${job.run_at} />`]);
  return html`<dl class="card facts">${facts.map(([id, value]) => html`<div><dt>${t(`fact.${id}`)}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Attempts({ items }) {
  return html`<${Card} title=${t('job.attempts')} count=${items.length} className="po-6" flush><div class="tw"><table class="cards"><thead><tr><th scope="col">${t('job.attempt')}</th><th scope="col">${t('job.ended')}</th><th scope="col">${t('job.started')}</th>
    <th scope="col" class="num">${t('job.ran')}</th><th scope="col">${t('fact.node')}</th><th scope="col" class="num">${t('job.cpu')}</th><th scope="col" class="num">${t('job.memory')}</th></tr></thead>
    <tbody>${[...items].reverse().map((one) => html`<tr key=${one.id}><td data-label=${t('job.attempt')}>${one.attempt}</td>
      <td class="prime">${one.finished_at ? html`<span class=${one.code === 'ok' ? '' : 'bad'}>${one.exitcode ?? ''}</span> <${Foreign} text=${one.error ?? one.code ?? ''} />` : t('state.running')}</td>
      <td><${Time} at=${one.started_at} as=${(x) => when(x, { seconds: true })} /></td><td class="num" data-label=${t('job.ran')}>${span(one.run_ms === null ? null : one.run_ms / 1000)}</td><td>${one.node ?? '–'}</td>
      <td class="num gone">${one.usage?.cpu_seconds !== undefined && one.usage?.cpu_seconds !== null ? span(one.usage.cpu_seconds) : '–'}</td><td class="num gone">${one.usage?.peak_memory_bytes ? `${Math.round(one.usage.peak_memory_bytes / 1048576)} MiB` : '–'}</td></tr>`)}</tbody></table></div><//>`;
}

/** Puts the job's fields into the form that adds one. */
function editAgain(job) {
  const text = (x) => (x === null || x === undefined ? '' : String(x));
  remember('again', {
    type: job.command ? '' : job.type, command: job.command ? job.command.map((word) => (/^[\w./:=+-]+$/.test(word) ? word : JSON.stringify(word))).join(' ') : '',
    payload: job.payload_base64 ?? (typeof job.payload === 'string' ? job.payload : JSON.stringify(job.payload)), encoding: job.payload_base64 ? 'base64' : 'text',
    name: text(job.name), queue: job.queue, priority: text(job.priority), max_retries: text(job.max_retries), retry_delay: text(job.retry_delay), max_run_time: text(job.max_run_time), tags: job.tags.join(', '), group: text(job.group),
  });
  go(href('jobs', 'new', job.command ? { again: 1, command: '' } : { again: 1 }));
}

async function clone(job) {
  try {
    const made = await post(at('jobs', job.id, 'clone'));
    toast({ strong: t('did.clone'), text: job.name ?? job.type });
    go(href('jobs', made.id ?? made.job.id));
  } catch (problem) {
    toastProblem(problem);
  }
}

function Actions({ job }) {
  const names = allowedFor(job.state);
  const main = names.find((name) => ['retry', 'release', 'resume'].includes(name));
  const end = ['cancel'].find((name) => names.includes(name));
  const rest = names.filter((name) => name !== main && name !== end);
  return html`${main && html`<${Act} kind="primary" onClick=${() => act(job, main)}>${t(`do.${main}`)}<//>`}
    <${Act} scope="enqueue" onClick=${() => editAgain(job)}>${t('job.again')}<//>
    ${end && html`<${Act} onClick=${() => act(job, end)}>${t(`do.${end}`)}…<//>`}
    <${Menu} label=${t('more.actions')} className="btn icon" button=${html`<${Icon} name="dots" />`}>${(close) => html`
      ${changeable(job.state) && html`<${Item} onClick=${() => { close(); askPriority(job); }}>${t('do.priority')}…<//>`}
      <${Item} scope="enqueue" onClick=${() => { close(); clone(job); }}>${t('do.clone')}<//>
      ${rest.map((name) => html`<${Item} bad=${actions[name].danger} onClick=${async () => { close(); if (await act(job, name) && name === 'rm') go(href('jobs')); }}>${t(`do.${name}`)}${actions[name].asks ? '…' : ''}<//>`)}`}<//>`;
}

function Item({ scope = 'operate', bad, onClick, children }) {
  return html`<${Act} scope=${scope} kind=${bad ? 'bad' : ''} onClick=${onClick}>${children}<//>`;
}

function Result({ job }) {
  const result = useApi(job.result_size ? `jobs/${job.id}/result` : null, { tenant: job.tenant }, { live: false, read: async (path, query, o) => new Uint8Array(await (await request('GET', path, { query, accept: '*/*', ...o })).arrayBuffer()) });
  if (!job.result_size) return html`<p class="dim card-b">${t('job.noresult')}</p>`;
  return html`<div class="card-b"><${Shown} of=${result} rows=${2}>${(bytes) => html`<${Payload} bytes=${bytes} />`}<//></div>`;
}

function Outcome({ job }) {
  const [tab, setTab] = useState('log');
  return html`<section class="card po-5" aria-label=${t('job.output')}><div class="tabs" role="tablist">${['log', 'result', 'events'].map((id) => html`
      <button type="button" role="tab" aria-selected=${String(tab === id)} onClick=${() => setTab(id)}>${t(`job.tab.${id}`)}</button>`)}</div>
    ${tab === 'log' && html`<${Log} job=${job} />`}${tab === 'result' && html`<${Result} job=${job} />`}${tab === 'events' && html`<${JobEvents} job=${job} />`}</section>`;
}

function bytesOf(job) {
  if (job.payload_base64) return Uint8Array.from(atob(job.payload_base64), (c) => c.charCodeAt(0));
  return null;
}

export default function Job({ id }) {
  const job = useApi(`jobs/${encodeURIComponent(id)}`, { tenant: undefined }, { every: 1, rest: 5, read: readJob });
  const attempts = useApi(job.data ? `jobs/${id}/attempts` : null, {}, { every: 2, rest: 10 });
  const over = job.data && finalStates.includes(job.data.state);
  const explain = useApi(job.data ? `jobs/${id}/explain` : null, {}, { every: 2, rest: over ? 60 : 5 });
  const it = job.data;
  useKeys(it ? { r: () => actions.retry.from.includes(it.state) && act(it, 'retry'), c: () => actions.cancel.from.includes(it.state) && act(it, 'cancel'), h: () => actions.hold.from.includes(it.state) && act(it, 'hold') } : {});
  const crumb = html`<a href=${href('jobs')}>${t('page.jobs')}</a>${it && html` / <a href=${jobsHref(term('type', it.type))}>${it.type}</a>`}`;
  if (!it) return html`<${Head} title=${id} crumb=${crumb} />${job.error ? html`<${Trouble} error=${job.error} retry=${job.reload} />` : html`<div class="card"><${Shown} of=${job} rows=${6} /></div>`}`;
  return html`<${Head} title=${html`<${Foreign} text=${it.name ?? it.type} />`} crumb=${crumb} badge=${html`<${State} state=${it.state} more=${badgeWords(it)} />`}
      lead=${html`<span class="idline"><span class="mono">${it.id}</span><${Copy} text=${it.id} label=${t('job.copyid')} /></span>${it.tags.map((tag) => html` <a class="tag" href=${jobsHref(term('tag', tag))}><${Foreign} text=${tag} /></a>`)}`}>
      <${Actions} job=${it} /><//>
    ${job.error && html`<${Trouble} error=${job.error} retry=${job.reload} />`}
    <${Facts} job=${it} />
    ${it.error && html`<div class="banner err"><${Icon} name="errors" /><div><b>${it.error.split('\n')[0].length < 120 ? html`<${Foreign} text=${it.error.split('\n')[0]} />` : t('job.error')}</b>${(it.error.length > it.error.split('\n')[0].length || it.error.length >= 120) && html`<div class="bytes"><${Foreign} text=${it.error} /></div>`}</div></div>`}
    <div class="cols wide-left"><div class="stack">
      <${Card} title=${t('job.timeline')} question=${t('job.timeline.question')} right=${t('job.since', { span: span(over ? secondsBetween(it.created_at, it.finished_at ?? it.created_at) : secondsSince(it.created_at), { short: true }) })} className="po-3">
        <${Timeline} job=${it} attempts=${attempts.data?.items ?? []} /><//>
      <${Outcome} job=${it} />
      ${attempts.data?.items.length > 0 && html`<${Attempts} items=${attempts.data.items} />`}
    </div><div class="stack">
      <${Explain} job=${it} explain=${explain} />
      <${Card} title=${t('job.payload')} className="po-5" flush><div class="card-b"><${Payload} text=${typeof it.payload === 'string' ? it.payload : null} bytes=${bytesOf(it)} raw=${it.raw} /></div><//>
      ${it.command && html`<${Card} title=${t('job.command')} className="po-6"><pre class="bytes" tabindex="0"><${Foreign} text=${it.command.map((word) => (/^[\w./:=+,-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')} /></pre><//>`}
      <${Relations} job=${it} />
      <${More} job=${it} />
    </div></div>`;
}

const moreFields = ['type', 'tenant', 'schedule', 'group', 'retry_delay', 'retry_window', 'max_run_time', 'service_time', 'user', 'cwd', 'document_uri', 'param', 'exit_status', 'signal', 'reason'];

function More({ job }) {
  const shown = moreFields.filter((name) => job[name] !== null && job[name] !== undefined && job[name] !== '');
  const env = Object.entries(job.env ?? {});
  const uses = Object.entries(job.resources ?? {});
  return html`<${Card} title=${t('job.more')} className="po-6"><dl class="kv">${shown.map((name) => html`<dt>${name}</dt><dd>${name === 'group' ? html`<a class="link" href=${jobsHref(term('group', job.group))}>${job.group}</a>` : name === 'schedule' ? html`<a class="link" href=${jobsHref(term('schedule', job.schedule))}>${job.schedule}</a>` : html`<${Foreign} text=${job[name]} />`}</dd>`)}
    ${env.length > 0 && html`<dt>env</dt><dd>${env.map(([key, value]) => html`<div><${Foreign} text=${`${key}=${value}`} /></div>`)}</dd>`}
    ${uses.length > 0 && html`<dt>resources</dt><dd>${uses.map(([key, n]) => `${key} ${n}`).join(', ')}</dd>`}</dl><//>`;
}

