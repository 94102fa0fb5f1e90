// Dialogs: the browser's own <dialog>, one at a time. ask() gives what the reader chose.
import { Problem } from '../lib/api.js';
import { t } from '../lib/text.js';
import { value, useValue } from '../lib/value.js';
import { html, useEffect, useRef, useState, useUid } from '../lib/view.js';
import { Trouble } from './parts.js';

const open = value(null);

/**
 * Shows a dialog and gives a promise of what confirm() returned; undefined if it was left.
 *   title, body     what it says; body may be a function of {fields, setFields, busy}
 *   fields          first values of what body lets the reader change
 *   label, kind     the button that acts ('primary' or 'danger'); label may be a function of fields
 *   keep            the words of the way out
 *   typed           a name that must be typed before the button works
 *   confirm         async (fields) => result; a Problem stays in the dialog
 *   wide            for editors
 */
export function ask(spec) {
  return new Promise((resolve) => open.set({ ...spec, resolve }));
}

function useOpen(ref, spec, leave) {
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog.showModal();
    const cancelled = (event) => { event.preventDefault(); leave(); };
    dialog.addEventListener('cancel', cancelled);
    return () => {
      dialog.removeEventListener('cancel', cancelled);
      dialog.close();
      if (before?.isConnected) before.focus();
    };
  }, [spec]);
}

function Shown({ spec }) {
  const ref = useRef();
  const title = useUid('dialog');
  const [fields, setAll] = useState(spec.fields ?? {});
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const finish = (result) => { open.set(null); spec.resolve(result); };
  const leave = () => finish(undefined);
  useOpen(ref, spec, leave);
  const setFields = (some) => setAll((old) => ({ ...old, ...some }));
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      finish(await spec.confirm(fields));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      setError(problem);
      setBusy(false);
    }
  };
  const label = typeof spec.label === 'function' ? spec.label(fields) : spec.label;
  const body = typeof spec.body === 'function' ? spec.body({ fields, setFields, error }) : spec.body;
  return html`<dialog ref=${ref} class=${spec.wide ? 'wide' : ''} aria-labelledby=${title}>
    <form method="dialog" onSubmit=${submit} novalidate>
      <h2 id=${title}>${spec.title}</h2>
      ${body}
      ${spec.typed && html`<div class="field"><label for="typed">${t('dialog.type', { name: spec.typed })}</label>
        <input id="typed" class="input mono" autocomplete="off" value=${typed} onInput=${(e) => setTyped(e.target.value)} /></div>`}
      ${error && html`<${Trouble} error=${error} />`}
      <div class="row">
        <button type="button" class="btn" autofocus=${!spec.fields && !spec.typed} onClick=${leave}>${spec.keep ?? t('dialog.keep')}</button>
        ${label && html`<button type="submit" class=${`btn ${spec.kind ?? 'primary'}`} disabled=${busy || (spec.typed && typed !== spec.typed)}>${label}</button>`}
      </div>
    </form>
  </dialog>`;
}

let shown = 0;

export function Dialogs() {
  const spec = useValue(open);
  if (!spec) return null;
  spec.key ??= ++shown;
  return html`<${Shown} key=${spec.key} spec=${spec} />`;
}
