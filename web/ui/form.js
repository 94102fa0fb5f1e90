// Fields of forms: label above, hint below, the problem in place of the hint.
import { html, useUid } from '../lib/view.js';

/**
 * One field. kind: text (default), number, textarea, select, check, password.
 * error: a Problem whose pointer may name this field (by `name`), or a text.
 */
export function Field({ label, hint, name, kind = 'text', value, onChange, options, mono = false, error, whole = false, ...rest }) {
  const id = useUid('field');
  const said = typeof error === 'string' ? error : (error?.pointer === `/${name}` ? error.detail : null);
  const below = said ?? hint;
  const shared = {
    id, name, class: `input ${mono ? 'mono' : ''}`, 'aria-invalid': said ? 'true' : undefined,
    'aria-describedby': below ? `${id}-hint` : undefined, ...rest,
  };
  const set = (event) => onChange(event.target.value);
  if (kind === 'check') {
    return html`<div class=${`field ${whole ? 'whole' : ''}`}><label class="checkline"><input type="checkbox" name=${name} checked=${value}
      onChange=${(e) => onChange(e.target.checked)} ...${rest} />${label}</label>${below && html`<span class="hint">${below}</span>`}</div>`;
  }
  const control = kind === 'textarea' ? html`<textarea ...${shared} value=${value} onInput=${set} spellcheck="false"></textarea>`
    : kind === 'select' ? html`<select ...${shared} value=${value} onChange=${set}>${options.map((one) => html`
        <option value=${one.id ?? one} selected=${(one.id ?? one) === value}>${one.label ?? one}</option>`)}</select>`
      : html`<input ...${shared} type=${kind === 'number' ? 'text' : kind} inputmode=${kind === 'number' ? 'numeric' : undefined} value=${value} onInput=${set} autocomplete="off" />`;
  return html`<div class=${`field ${whole ? 'whole' : ''}`}><label for=${id}>${label}</label>${control}
    ${below && html`<span id=${`${id}-hint`} class=${`hint ${said ? 'err' : ''}`}>${below}</span>`}</div>`;
}

/** The number that a field's text stands for; null if it is empty, undefined if it is none. */
export function numberOf(text) {
  const trimmed = String(text ?? '').trim().replace('−', '-');
  if (trimmed === '') return null;
  return /^-?\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}
