// Acting on many jobs: count first, then ask, then a background operation with progress.
import { post } from '../lib/api.js';
import { counted, whole } from '../lib/format.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { actions, stir } from './actions.js';
import { ask } from './dialog.js';
import { Field, numberOf } from './form.js';
import { toast, toastProblem } from './toast.js';

const TYPE_NAME_ABOVE = 1000, GREW = 1.1;

const count = (action, q, more = {}) => post('operations', { action, q, dry_run: true, ...more });

/** The same by ids, where single jobs were chosen. */
export const idsQuery = (ids) => `id:${[...ids].join(',')}`;

async function begin(action, q, expected, fields) {
  const body = { action, q };
  if (fields.reason) body.reason = fields.reason;
  if (action === 'set') Object.assign(body, { priority: numberOf(fields.priority) ?? fields.priority });
  const again = await count(action, q, action === 'set' ? { priority: body.priority } : {});
  if (again.count > Math.max(expected * GREW, expected + 1) && !fields.grown) return { grown: again.count };
  const operation = await post('operations', body);
  stir();
  const { undo } = actions[action] ?? {};
  toast({
    strong: t(`bulk.did.${action}`), operation, onEnd: stir, show: undefined,
    undo: undo && (async () => { const back = await post('operations', { action: undo, q: q.replace(/(^|\s)state:\S+/g, '').trim() }); toast({ strong: t(`bulk.did.${undo}`), operation: back, onEnd: stir }); }),
  });
  return { operation };
}

/**
 * Asks for and starts an operation on all jobs that match; gives it, or undefined if the reader
 * left. title: what the reader chose, in words; default: the query.
 */
export async function bulk(action, { q, chosen }) {
  let counted1;
  try {
    counted1 = await count(action, q, action === 'set' ? { priority: 5 } : {});
  } catch (problem) {
    toastProblem(problem);
    return undefined;
  }
  const { count: n, count_more: more } = counted1;
  const jobs = counted(n, 'job', more);
  if (n === 0) {
    toast({ state: 'cancelled', strong: t('bulk.none'), text: q });
    return undefined;
  }
  const danger = actions[action]?.danger || action === 'kill';
  let expected = n;
  return ask({
    title: t(`bulk.ask.${action}`, { jobs }), kind: danger ? 'danger' : 'primary', keep: t('bulk.keep'),
    typed: n > TYPE_NAME_ABOVE ? String(n) : undefined, label: t(`bulk.do.${action}`, { jobs }),
    fields: { reason: '', priority: '5', grown: null },
    body: ({ fields, setFields, error }) => html`<p>${chosen ? t('bulk.chosen', { jobs }) : html`${t('bulk.match')} <code>${q || t('bulk.everything')}</code>.`} ${t(`bulk.${action}.text`)}</p>
      ${fields.grown && html`<div class="banner warn"><div>${t('bulk.grown', { was: whole(n), now: whole(fields.grown) })}</div></div>`}
      ${action === 'set' && html`<${Field} label=${t('job.priority')} name="priority" kind="number" hint=${t('priority.hint')} value=${fields.priority} error=${error} onChange=${(priority) => setFields({ priority })} />`}
      ${['hold', 'cancel', 'kill', 'pause', 'halt'].includes(action) && html`<${Field} label=${t('reason')} hint=${t('reason.hint')} value=${fields.reason} onChange=${(reason) => setFields({ reason })} />`}`,
    confirm: async (fields) => {
      let result = await begin(action, q, expected, fields);
      if (result.grown) {
        expected = result.grown;
        result = await askAgain(action, q, n, result.grown, fields);
      }
      return result?.operation;
    },
  });
}

/** The number grew while the reader read: says so and asks once more. */
function askAgain(action, q, was, now, fields) {
  setTimeout(() => ask({
    title: t('bulk.grown', { was: whole(was), now: whole(now) }), label: t(`bulk.do.${action}`, { jobs: counted(now, 'job') }), keep: t('bulk.keep'),
    body: html`<p><code>${q}</code></p>`, confirm: () => begin(action, q, now, { ...fields, grown: true }),
  }));
  return undefined;
}
