// What can be done to a job or a queue, in one table: from which states, and how it asks.
import { at, patch, post, put, remove } from '../lib/api.js';
import { counted } from '../lib/format.js';
import { changed } from '../lib/live.js';
import { finalStates } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { ask } from './dialog.js';
import { Field, numberOf } from './form.js';
import { toast, toastProblem } from './toast.js';

const waiting = ['deferred', 'blocked', 'ready', 'retrying', 'halted'];
const notFinal = [...waiting, 'held', 'running', 'paused'];

/** Action → the states it is for. `asks`: a dialog comes first; `undo`: its opposite. */
export const actions = {
  retry: { from: [...finalStates, 'retrying'], asks: false },
  release: { from: ['held'], undo: 'hold' },
  resume: { from: ['paused', 'halted'] },
  hold: { from: waiting, undo: 'release' },
  pause: { from: ['running'], undo: 'resume' },
  halt: { from: ['running', 'paused'], undo: 'resume' },
  cancel: { from: notFinal, asks: true },
  kill: { from: ['running', 'paused'], asks: true },
  rm: { from: [...finalStates, ...notFinal], asks: true, danger: true },
};

export const allowedFor = (state) => Object.keys(actions).filter((name) => actions[name].from.includes(state));
export const changeable = (state) => [...waiting, 'held'].includes(state);

const nameOf = (job) => job.name ?? job.type;

/** Everything that is live should look again: something was done here. */
export const stir = () => changed.set(performance.now());

async function perform(job, name, body) {
  const query = { tenant: job.tenant };
  const answer = name === 'rm' ? await remove(at('jobs', job.id), { query }) : await post(at('jobs', job.id, name), body, { query });
  stir();
  return answer;
}

function told(job, name) {
  const { undo } = actions[name];
  toast({ strong: t(`did.${name}`), text: nameOf(job), undo: undo && (() => act(job, undo)) });
}

/** Does an action to one job, after asking where it must be asked; gives the answer. */
export async function act(job, name, reason) {
  const { asks, danger } = actions[name];
  if (asks) {
    return ask({
      title: t(`ask.${name}`, { name: nameOf(job) }), kind: danger || name === 'kill' ? 'danger' : 'primary',
      body: ({ fields, setFields }) => html`<p>${t(`ask.${name}.text`)}</p>
        ${name !== 'rm' && html`<${Field} label=${t('reason')} hint=${t('reason.hint')} value=${fields.reason} onChange=${(text) => setFields({ reason: text })} />`}`,
      fields: { reason: reason ?? '' }, label: t(`do.${name}`), keep: t('keep.job'),
      confirm: async ({ reason: why }) => {
        const answer = await perform(job, name, why ? { reason: why } : {});
        told(job, name);
        return answer;
      },
    });
  }
  try {
    const answer = await perform(job, name, {});
    told(job, name);
    return answer;
  } catch (problem) {
    toastProblem(problem);
    return undefined;
  }
}

/** Sets the priority of a waiting job, and can take it back. */
export async function setPriority(job, priority) {
  const set = async (n) => { await patch(at('jobs', job.id), { priority: n }, { query: { tenant: job.tenant } }); stir(); };
  try {
    await set(priority);
    toast({ strong: t('did.priority', { now: priority, was: job.priority }), text: nameOf(job), undo: () => set(job.priority) });
  } catch (problem) {
    toastProblem(problem);
  }
}

export const askPriority = (job) => ask({
  title: t('ask.priority', { name: nameOf(job) }), fields: { priority: String(job.priority) }, label: t('do.priority'), keep: t('keep.job'),
  body: ({ fields, setFields, error }) => html`<${Field} label=${t('job.priority')} name="priority" kind="number" value=${fields.priority} hint=${t('priority.hint')} error=${error}
    onChange=${(text) => setFields({ priority: text })} />`,
  confirm: async ({ priority }) => {
    const n = numberOf(priority);
    await patch(at('jobs', job.id), { priority: n ?? priority }, { query: { tenant: job.tenant } });
    stir();
    toast({ strong: t('did.priority', { now: priority, was: job.priority }), text: nameOf(job) });
    return true;
  },
});

// ---- queues ----

export async function resumeQueue(queue) {
  try {
    await post(at('queues', queue.name, 'resume'));
    stir();
    toast({ strong: t('did.queue.resume'), text: queue.name, undo: () => post(at('queues', queue.name, 'pause'), { reason: queue.pause_reason ?? undefined }).then(stir) });
  } catch (problem) {
    toastProblem(problem);
  }
}

export const pauseQueue = (queue) => ask({
  title: t('ask.queue.pause', { name: queue.name }), fields: { reason: '', for: '' }, label: t('do.queue.pause'), keep: t('keep.queue'),
  body: ({ fields, setFields, error }) => html`<p>${t('ask.queue.pause.text')}</p>
    <${Field} label=${t('reason')} name="reason" hint=${t('reason.hint')} value=${fields.reason} error=${error} onChange=${(reason) => setFields({ reason })} />
    <${Field} label=${t('queue.for')} name="for" hint=${t('queue.for.hint')} value=${fields.for} error=${error} onChange=${(text) => setFields({ for: text })} />`,
  confirm: async (fields) => {
    const body = Object.fromEntries(Object.entries(fields).filter(([, text]) => text.trim()));
    const answer = await post(at('queues', queue.name, 'pause'), body);
    stir();
    toast({ strong: t('did.queue.pause'), text: queue.name, undo: () => post(at('queues', queue.name, 'resume')).then(stir) });
    return answer;
  },
});

export const clearQueue = (queue, waitingJobs) => ask({
  title: t('ask.queue.clear', { name: queue.name }), kind: 'danger', typed: queue.name, label: t('do.queue.clear', { jobs: counted(waitingJobs, 'job') }), keep: t('keep.jobs'),
  body: html`<p>${t('ask.queue.clear.text', { jobs: counted(waitingJobs, 'job'), running: counted(queue.running ?? 0, 'job') })}</p>`,
  confirm: async () => {
    const answer = await post(at('queues', queue.name, 'clear'));
    stir();
    toast({ strong: t('did.queue.clear'), text: queue.name, operation: answer.operation && typeof answer.operation === 'object' ? answer.operation : undefined });
    return answer;
  },
});

const numbers = ['slots', 'priority_min', 'priority_max', 'default_priority', 'aging'];
const shown = (x) => (x === null || x === undefined ? '' : String(x));
const rateText = (r) => (r ? `${r.jobs}/${r.per.replace(/^PT/, '').replace(/^1S$/, 's').replace(/^1M$/, 'm').replace(/^1H$/, 'h').toLowerCase()}` : '');

/** Edits the limits of a queue; says what changed. */
export function editQueue(queue) {
  const before = { ...Object.fromEntries(numbers.map((name) => [name, shown(queue[name])])), rate: rateText(queue.rate), policy: queue.policy, nice: queue.nice, resources: (queue.resources ?? []).join(', ') };
  const field = (name, more = {}) => ({ fields, setFields, error }) => html`<${Field} label=${t(`queue.f.${name}`)} name=${name} hint=${t(`queue.f.${name}.hint`)}
    value=${fields[name]} error=${error} onChange=${(text) => setFields({ [name]: text })} ...${more} />`;
  return ask({
    title: t('ask.queue.edit', { name: queue.name }), fields: before, label: t('save'), keep: t('keep.queue'), wide: true,
    body: (form) => html`<div class="fields two">
      ${field('slots', { kind: 'number' })(form)}${field('rate')(form)}${field('priority_min', { kind: 'number' })(form)}${field('priority_max', { kind: 'number' })(form)}
      ${field('default_priority', { kind: 'number' })(form)}${field('policy', { kind: 'select', options: ['fair', 'skip', 'backfill'] })(form)}
      ${field('aging', { kind: 'number' })(form)}${field('resources')(form)}${field('nice', { kind: 'check' })(form)}</div>`,
    confirm: async (fields) => {
      const body = { policy: fields.policy, nice: fields.nice, rate: fields.rate.trim() || null, resources: fields.resources.split(/[\s,]+/).filter(Boolean), paused: queue.paused };
      for (const name of numbers) body[name] = numberOf(fields[name]) === undefined ? fields[name] : numberOf(fields[name]);
      if (body.aging === null) body.aging = 0;
      const answer = await put(at('queues', queue.name), body);
      stir();
      const what = Object.keys(before).filter((name) => before[name] !== fields[name]).map((name) => t('was', { name: t(`queue.f.${name}`), now: fields[name] === '' ? t('none') : String(fields[name]), was: before[name] === '' ? t('none') : String(before[name]) }));
      toast({ strong: t('saved'), text: what.join('; ') || t('unchanged') });
      return answer;
    },
  });
}

