// Small parts of every page: state badge, page head, card, time, text of strangers, empty, error.
import { useAfter } from '../lib/data.js';
import { ago, exact, when } from '../lib/format.js';
import { hasHidden, parts } from '../lib/hidden.js';
import { docsRoot } from '../lib/place.js';
import { allows } from '../lib/session.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { Glyph, Icon } from './icon.js';

/** The state of a job as glyph, word and colour. */
export function State({ state, more }) {
  return html`<span class=${`b s-${state}`}><${Glyph} state=${state} />${state}${more ? `, ${more}` : ''}</span>`;
}

/** Text that someone else wrote: what cannot be seen in it is shown by its number. */
export function Foreign({ text }) {
  const whole = String(text ?? '');
  if (!hasHidden(whole)) return html`<bdi>${whole}</bdi>`;
  return html`<bdi>${parts(whole).map((part) => (part.code ? html`<span class="hidden-char">${part.code}</span>` : part))}</bdi>`;
}

export function Time({ at, as = when }) {
  if (!at) return '–';
  return html`<time datetime=${exact(at)} title=${exact(at)}>${as(at)}</time>`;
}

export const Ago = ({ at }) => html`<${Time} at=${at} as=${ago} />`;

/** The head of a page: where it belongs, what it is, its answer, what can be done. */
export function Head({ title, badge, crumb, lead, children }) {
  return html`<div class="head">
    <div>
      ${crumb && html`<div class="crumb">${crumb}</div>`}
      <h1>${title}${badge}</h1>
      ${lead && html`<p class="lead">${lead}</p>`}
    </div>
    ${children && html`<div class="acts">${children}</div>`}
  </div>`;
}

/** A card: title, the question it answers, something at the right, and its content. */
export function Card({ title, count, question, right, children, className = '', flush = false }) {
  return html`<section class=${`card ${className}`} aria-label=${title}>
    ${title && html`<div class="card-h">
      <h2>${title}${count !== undefined && html`<span class="count">${count}</span>`}</h2>
      ${question && html`<span class="q">${question}</span>`}
      ${right && html`<span class="r">${right}</span>`}
    </div>`}
    ${flush ? children : html`<div class="card-b">${children}</div>`}
  </section>`;
}

/** A button for a change. What the reader's token forbids is shown, and says why not. */
export function Act({ scope = 'operate', kind = '', small = false, onClick, children, disabled, ...rest }) {
  const allowed = allows(scope);
  return html`<button type="button" class=${`btn ${kind} ${small ? 'small' : ''}`} disabled=${!allowed || disabled}
    title=${allowed ? undefined : t('scope.missing', { scope })} onClick=${onClick} ...${rest}>${children}</button>`;
}

/** Bars in place of rows that are on their way; nothing for the first 300 ms. */
export function Loading({ rows = 4 }) {
  const late = useAfter(300, true);
  if (!late) return html`<div aria-busy="true">${Array.from({ length: rows }, () => html`<div class="skel-row"></div>`)}</div>`;
  return html`<div aria-busy="true" aria-label=${t('loading')} role="status">${Array.from({ length: rows }, () => html`
    <div class="skel-row"><div class="skel"></div><div class="skel"></div><div class="skel"></div></div>`)}</div>`;
}

export function Empty({ title, children, actions }) {
  return html`<div class="empty"><p class="strong">${title}</p>${children && html`<p>${children}</p>`}
    ${actions && html`<div class="row-b">${actions}</div>`}</div>`;
}

/** A problem of the API in place of what it would have shown. */
export function Trouble({ error, retry }) {
  const lost = error.code === 'unreachable';
  return html`<div class="banner err" role="alert"><${Icon} name=${lost ? 'lost' : 'errors'} />
    <div><b>${lost ? t('lost.title') : (error.title ?? error.message)}</b>${' '}
      ${lost ? t('lost.text') : html`<${Foreign} text=${error.detail === error.title ? '' : error.detail ?? ''} />`}
      ${error.hint && html`<br /><span class="dim">${error.hint}</span>`}
      ${error.code && !lost && html` <a class="link" href=${new URL(`errors/${error.code}`, docsRoot).href} target="_blank" rel="noopener">${error.code}</a>`}
    </div>
    ${retry && html`<div class="r"><button type="button" class="btn small" onClick=${retry}>${t('try.again')}</button></div>`}
  </div>`;
}

/** What an answer shows: bars while it is awaited, the problem, or children(data). */
export function Shown({ of, rows, children }) {
  if (of.data !== undefined) return children?.(of.data);
  if (of.error) return html`<div class="card-b"><${Trouble} error=${of.error} retry=${of.reload} /></div>`;
  return html`<${Loading} rows=${rows} />`;
}

export function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="btn quiet icon small" aria-label=${done ? t('copied') : label ?? t('copy')} onClick=${copy}>
    <${Icon} name=${done ? 'check' : 'copy'} /></button>`;
}

export function CodeBox({ text }) {
  return html`<div class="codebox"><code tabindex="0">${text}</code><${Copy} text=${text} /></div>`;
}

/** A choice of one of few: [{id, label}]. */
export function Segments({ label, options, chosen, onChoose }) {
  return html`<div class="seg" role="group" aria-label=${label}>${options.map((one) => html`
    <button type="button" aria-pressed=${String(one.id === chosen)} onClick=${() => onChoose(one.id)}>${one.label}</button>`)}</div>`;
}
