// Why a job waits, in order, with what would help.
import { at, post } from '../lib/api.js';
import { clock } from '../lib/format.js';
import { href } from '../lib/place.js';
import { finalStates } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { act, actions, changeable, setPriority, stir } from './actions.js';
import { Act, Card, Foreign, Shown } from './parts.js';
import { toast, toastProblem } from './toast.js';

const MORE_PRIORITY = 10;

async function resume(queue) {
  try {
    await post(at('queues', queue, 'resume'));
    stir();
    toast({ strong: t('did.queue.resume'), text: queue });
  } catch (problem) {
    toastProblem(problem);
  }
}

/** Reason → the buttons that would help. */
function fixes(job, reasons) {
  const words = new Set(reasons.map((one) => one.reason));
  const all = [];
  for (const name of ['retry', 'release', 'resume']) if (actions[name].from.includes(job.state)) all.push(html`<${Act} small onClick=${() => act(job, name)}>${t(`do.${name}`)}<//>`);
  if (words.has('queue_paused')) all.push(html`<${Act} small onClick=${() => resume(job.queue)}>${t('fix.queue', { queue: job.queue })}<//>`);
  if (words.has('queue_full') || words.has('queue_rate')) all.push(html`<a class="btn small" href=${href('queues', job.queue)}>${t('fix.limits')}</a>`);
  if (words.has('no_handler') || words.has('handler_disabled')) all.push(html`<a class="btn small" href=${href('handlers', job.type)}>${t('fix.handler')}</a>`);
  if ((words.has('behind_others') || words.has('no_free_slot')) && changeable(job.state) && job.priority < MORE_PRIORITY) all.push(html`<${Act} small onClick=${() => setPriority(job, MORE_PRIORITY)}>${t('fix.priority', { n: MORE_PRIORITY })}<//>`);
  return all;
}

export function Explain({ job, explain }) {
  const title = t(finalStates.includes(job.state) ? 'explain.ended' : (job.state === 'running' ? 'explain.runs' : 'explain.waits'));
  return html`<${Card} title=${title} className="explain po-2"><${Shown} of=${explain} rows=${2}>${(data) => html`
    <ol>${(data.reasons ?? [data]).map((one, i) => html`<li class=${i === 0 ? 'now' : ''}><span class="no">${i + 1}</span><div><${Foreign} text=${one.text} />
      ${one.until && html` <span class="dim">${t('explain.until', { at: clock(one.until, { seconds: true }) })}</span>`}
      ${one.held_by && html` <a class="link mono" href=${href('jobs', one.held_by)}>${one.held_by}</a>`}${one.by && html` <span class="dim">${t('explain.by', { who: one.by.who })}</span>`}
      ${one.help && html`<div class="dim mono"><${Foreign} text=${one.help} /></div>`}</div></li>`)}</ol>
    <div class="fixes">${fixes(job, data.reasons ?? [])}</div>`}<//><//>`;
}
