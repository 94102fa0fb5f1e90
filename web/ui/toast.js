// Toasts: what was done, with Undo where it can be undone, and how far an operation is.
import { at, get, remove } from '../lib/api.js';
import { whole } from '../lib/format.js';
import { t } from '../lib/text.js';
import { useValue, value } from '../lib/value.js';
import { html, useEffect, useRef, useState } from '../lib/view.js';
import { Bar } from '../charts/small.js';
import { Glyph, Icon } from './icon.js';
import { Foreign } from './parts.js';

const MOST = 3, STAY_MS = 8000;
const all = value([]);
let last = 0;

/** Says that something was done: {strong, text, undo, show, state, operation}. */
export function toast(spec) {
  const one = { ...spec, key: ++last };
  all.set([...all.get(), one].slice(-MOST));
  return one.key;
}

/** A refusal of an action that had no dialog of its own. */
export const toastProblem = (problem) => toast({ state: 'failed', strong: problem.title ?? problem.message, text: problem.detail ?? '', assertive: true });

const drop = (key) => all.set(all.get().filter((one) => one.key !== key));

/** Follows a background operation until it has ended. */
function useOperation(operation, onEnd) {
  const [now, setNow] = useState(operation);
  useEffect(() => {
    if (!operation) return undefined;
    let timer, gone = false;
    const look = async () => {
      try {
        const next = await get(at('operations', operation.id), operation.tenant ? { tenant: operation.tenant } : {});
        if (gone) return;
        setNow(next);
        if (next.state !== 'running' && next.state !== 'counting') { onEnd?.(next); return; }
      } catch { /* the daemon is away: ask again */ }
      if (!gone) timer = setTimeout(look, 500);
    };
    look();
    return () => { gone = true; clearTimeout(timer); };
  }, [operation?.id]);
  return now;
}

function Toast({ one }) {
  const hovered = useRef(false);
  const operation = useOperation(one.operation, one.onEnd);
  const running = operation && (operation.state === 'running' || operation.state === 'counting');
  const stays = one.undo || running;
  useEffect(() => {
    if (stays) return undefined;
    const timer = setInterval(() => { if (!hovered.current) drop(one.key); }, STAY_MS);
    return () => clearInterval(timer);
  }, [stays]);
  const stop = () => remove(at('operations', operation.id));
  const undo = async () => { drop(one.key); await one.undo(); };
  const told = operation && !running ? t('operation.told', { acted: whole(operation.acted), refused: whole(operation.refused) }) : one.text;
  return html`<div class="toast" role=${one.assertive ? 'alert' : undefined}
      onMouseEnter=${() => { hovered.current = true; }} onMouseLeave=${() => { hovered.current = false; }}
      onFocusIn=${() => { hovered.current = true; }} onFocusOut=${() => { hovered.current = false; }}>
    <${Glyph} state=${running ? 'running' : one.state ?? 'done'} coloured />
    <div><b>${one.strong}</b> <${Foreign} text=${running ? t('operation.of', { acted: whole(operation.acted), count: whole(operation.count) }) : told ?? ''} />
      ${running && html`<${Bar} part=${operation.progress ?? 0} of=${100} label=${`${operation.progress ?? 0} %`} />`}</div>
    <span class="r">
      ${running && html`<button type="button" class="btn small" onClick=${stop}>${t('stop')}</button>`}
      ${one.show && html`<a class="btn small soft" href=${one.show}>${t('show')}</a>`}
      ${!running && one.undo && html`<button type="button" class="btn small soft" onClick=${undo}>${t('undo')}</button>`}
      <button type="button" class="btn quiet icon small" aria-label=${t('dismiss')} onClick=${() => drop(one.key)}><${Icon} name="close" /></button>
    </span></div>`;
}

export function Toasts() {
  const list = useValue(all);
  return html`<div class="toasts" role="status" aria-live="polite">${list.map((one) => html`<${Toast} key=${one.key} one=${one} />`)}</div>`;
}
