// Nodes: who works, how much of it is in use, by which queues; drain and resume.
import { at, patch, post, remove } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { counted, secondsSince, span, whole } from '../lib/format.js';
import { href, jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { Bar } from '../charts/small.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field, numberOf } from '../ui/form.js';
import { Ago, Act, Card, Foreign, Head, Shown, State } from '../ui/parts.js';
import { toast, toastProblem } from '../ui/toast.js';

/** A state of a node as the badge of a job's state that looks like it. */
const looks = { up: 'running', draining: 'paused', stopped: 'cancelled', lost: 'failed' };

const drain = (node) => ask({
  title: t('node.drain.ask', { name: node.sysid }), label: t('node.drain.do'), keep: t('dialog.keep'), fields: { reason: '' },
  body: ({ fields, setFields }) => html`<p>${t('node.drain.text', { jobs: counted(node.running?.length ?? 0, 'job') })}</p><${Field} label=${t('reason')} hint=${t('reason.hint')} value=${fields.reason} onChange=${(reason) => setFields({ reason })} />`,
  confirm: async ({ reason }) => {
    await post(at('nodes', node.sysid, 'drain'), reason ? { reason } : {});
    stir();
    toast({ strong: t('node.drained'), text: node.sysid, undo: () => resume(node) });
    return true;
  },
});

async function resume(node) {
  try {
    await post(at('nodes', node.sysid, 'resume'));
    stir();
    toast({ strong: t('node.resumed'), text: node.sysid });
  } catch (problem) {
    toastProblem(problem);
  }
}

const forget = (node) => ask({
  title: t('node.forget.ask', { name: node.sysid }), kind: 'danger', label: t('node.forget.do'), keep: t('dialog.keep'), body: html`<p>${t('node.forget.text')}</p>`,
  confirm: async () => { await remove(at('nodes', node.sysid)); stir(); toast({ strong: t('node.forgotten'), text: node.sysid }); return true; },
});

/** "mail 2, img 1" as an object; undefined if it cannot be read. */
function queuesOf(text) {
  const all = {};
  for (const part of text.split(',').map((one) => one.trim()).filter(Boolean)) {
    const found = /^(\S+)[\s=:]+(\d+)$/.exec(part);
    if (!found) return undefined;
    all[found[1]] = Number(found[2]);
  }
  return all;
}

const edit = (node) => ask({
  title: t('node.edit', { name: node.sysid }), label: t('save'), keep: t('dialog.keep'), fields: { slots: String(node.slots), queues: Object.entries(node.queues ?? {}).map(([name, n]) => `${name} ${n}`).join(', ') },
  body: ({ fields, setFields, error }) => html`<${Field} label=${t('node.slots')} name="slots" kind="number" hint=${t('node.slots.hint')} value=${fields.slots} error=${error} onChange=${(slots) => setFields({ slots })} />
    <${Field} label=${t('node.queues')} name="queues" hint=${t('node.queues.hint')} value=${fields.queues} error=${error ?? (queuesOf(fields.queues) ? null : t('node.queues.bad'))} onChange=${(queues) => setFields({ queues })} />`,
  confirm: async (fields) => {
    const named = queuesOf(fields.queues) ?? {};
    const gone = Object.fromEntries(Object.keys(node.queues ?? {}).filter((name) => !(name in named)).map((name) => [name, null]));
    await patch(at('nodes', node.sysid), { slots: numberOf(fields.slots) === undefined ? fields.slots : numberOf(fields.slots), queues: { ...gone, ...named } });
    stir();
    toast({ strong: t('saved'), text: t('was', { name: t('node.slots'), now: fields.slots, was: node.slots }) });
    return true;
  },
});

function Running({ node }) {
  const jobs = node.running ?? [];
  if (jobs.length === 0) return html`<p class="dim card-b">${t('node.idle')}</p>`;
  return html`<div class="tw"><table class="compact cards"><thead><tr><th scope="col">${t('col.job')}</th><th scope="col">${t('job.type')}</th><th scope="col">${t('queue')}</th><th scope="col" class="num">${t('col.run')}</th></tr></thead><tbody>${jobs.slice(0, 20).map((job) => html`
    <tr key=${job.id}><td class="prime"><a class="link mono" href=${href('jobs', job.id)}>${job.id}</a>${job.paused && html` <${State} state="paused" />`}</td><td>${job.type}</td><td><a href=${href('queues', job.queue)}>${job.queue}</a></td><td class="num">${span(secondsSince(job.started_at), { short: true })}</td></tr>`)}</tbody></table></div>
    ${jobs.length > 20 && html`<div class="foot"><a class="link" href=${jobsHref(`state:running ${term('node', node.sysid)}`)}>${t('node.all', { n: whole(jobs.length) })}</a></div>`}`;
}

function Node({ node }) {
  const facts = [['slots', html`${whole(node.slots_used)} / ${whole(node.slots)} <${Bar} part=${node.slots_used} of=${node.slots} label=${t('node.share', { used: node.slots_used, slots: node.slots })} />`],
    ['load', (node.load ?? []).map((n) => n.toFixed(2)).join('  ') || '–'], ['heartbeat', html`<${Ago} at=${node.heartbeat_at} />`], ['lease', node.lease_left_ms === null || node.lease_left_ms === undefined ? t('node.own') : span(node.lease_left_ms / 1000)],
    ['started', html`<${Ago} at=${node.started_at} />`], ['version', node.version], ['host', `${node.host} (${node.pid})`]];
  const title = html`${node.sysid}`;
  return html`<section class="card" aria-label=${node.sysid}><div class="card-h"><h2>${title}</h2><span class=${`b s-${looks[node.state] ?? 'held'}`}>${t(`node.state.${node.state}`)}</span>${node.controller && html`<span class="tag">${t('node.controller')}</span>`}
      <span class="r row-b">${node.drain || node.state === 'draining' ? html`<${Act} small scope="admin" onClick=${() => resume(node)}>${t('resume')}<//>` : node.state === 'up' && html`<${Act} small scope="admin" aria-label=${t('node.drain.of', { name: node.sysid })} onClick=${() => drain(node)}>${t('node.drain')}<//>`}
        <${Act} small kind="soft" scope="admin" aria-label=${t('node.edit', { name: node.sysid })} onClick=${() => edit(node)}>${t('node.change')}<//>${node.state === 'lost' && html`<${Act} small kind="danger-quiet" scope="admin" onClick=${() => forget(node)}>${t('node.forget')}<//>`}</span></div>
    ${node.drain?.reason && html`<div class="card-b"><${Foreign} text=${t('node.drain.why', { reason: node.drain.reason })} /></div>`}
    <dl class="facts">${facts.map(([id, value]) => html`<div><dt>${t(`node.f.${id}`)}</dt><dd>${value}</dd></div>`)}</dl>
    ${Object.keys(node.queues ?? {}).length > 0 && html`<div class="card-b tags">${Object.entries(node.queues).map(([name, n]) => html`<a class="tag" href=${href('queues', name)}>${name} ${n}</a>`)}</div>`}
    <${Running} node=${node} /></section>`;
}

export default function Nodes() {
  const nodes = useApi('nodes', {}, { every: 2, rest: 5 });
  const items = nodes.data?.items ?? [];
  const up = items.filter((node) => node.state === 'up');
  const lead = nodes.data && t('node.lead', { up: counted(up.length, 'node'), used: whole(items.reduce((n, node) => n + (node.slots_used ?? 0), 0)), slots: whole(items.reduce((n, node) => n + (node.state === 'up' ? node.slots : 0), 0)) });
  return html`<${Head} title=${t('page.nodes')} lead=${lead} />${nodes.data ? items.map((node) => html`<${Node} key=${node.sysid} node=${node} />`) : html`<div class="card"><${Shown} of=${nodes} /></div>`}`;
}
