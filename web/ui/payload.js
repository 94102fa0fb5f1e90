// What a job was given, or gave: as a tree where it is JSON, and as its exact bytes.
import { Exact, Pairs, parseExact, rawField } from '../lib/exact.js';
import { bytes as size } from '../lib/format.js';
import { hasHidden, parts } from '../lib/hidden.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { Copy, Segments } from './parts.js';

const LONG = 10000, OPEN_DEPTH = 2, MOST = 200;

function Text({ text }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? text : text.slice(0, LONG);
  const body = hasHidden(shown) ? parts(shown).map((part) => (part.code ? html`<span class="hidden-char">${part.code}</span>` : part)) : shown;
  return html`<bdi>${body}</bdi>${text.length > shown.length && html` <button type="button" class="textb" onClick=${() => setWhole(true)}>${t('payload.all', { size: size(text.length) })}</button>`}`;
}

function Branch({ label, note, children, depth }) {
  return html`<details open=${depth < OPEN_DEPTH}><summary>${label}<span class="x">${note}</span></summary><ul>${children}</ul></details>`;
}

function Node({ name, value, depth }) {
  const label = name === undefined ? '' : html`<span class="k"><${Text} text=${String(name)} />: </span>`;
  if (value instanceof Pairs) return html`<${Branch} label=${label} note=${t('payload.fields', { n: value.pairs.length })} depth=${depth}>${value.pairs.slice(0, MOST).map(([key, inner]) => html`<li><${Node} name=${key} value=${inner} depth=${depth + 1} /></li>`)}<//>`;
  if (Array.isArray(value)) return html`<${Branch} label=${label} note=${t('payload.items', { n: value.length })} depth=${depth}>${value.slice(0, MOST).map((inner, i) => html`<li><${Node} name=${i} value=${inner} depth=${depth + 1} /></li>`)}<//>`;
  if (value instanceof Exact) return html`${label}<span class="n">${value.text}</span>`;
  if (typeof value === 'string') return html`${label}<span class="s">"<${Text} text=${value} />"</span>`;
  return html`${label}<span class="l">${String(value)}</span>`;
}

function treeOf(text) {
  if (!/^\s*[[{]/.test(text ?? '')) return null;
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}

/** Bytes as lines of a hex dump. */
function dump(bytes) {
  const lines = [];
  for (let i = 0; i < Math.min(bytes.length, 4096); i += 16) {
    const row = [...bytes.slice(i, i + 16)];
    lines.push(`${i.toString(16).padStart(6, '0')}  ${row.map((b) => b.toString(16).padStart(2, '0')).join(' ').padEnd(47)}  ${row.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : '.')).join('')}`);
  }
  return lines.join('\n');
}

function textOf(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** text, or bytes, or raw: the JSON of the job whose field payload is some other value. */
export function Payload({ text, bytes, raw }) {
  const own = text ?? (bytes ? textOf(bytes) : rawField(raw ?? '', 'payload'));
  const tree = treeOf(own);
  const [as, setAs] = useState(tree ? 'tree' : 'bytes');
  if (own === '' || (bytes && bytes.length === 0)) return html`<p class="dim">${t('payload.empty')}</p>`;
  const length = bytes ? bytes.length : new TextEncoder().encode(own).length;
  const show = tree && as === 'tree';
  return html`<div class="row-b">${tree && html`<${Segments} label=${t('payload.as')} options=${[{ id: 'tree', label: t('payload.tree') }, { id: 'bytes', label: t('payload.bytes') }]} chosen=${as} onChoose=${setAs} />`}
      <span class="dim">${size(length)}</span>${own !== null && html`<${Copy} text=${own} label=${t('payload.copy')} />`}</div>
    ${show ? html`<div class="tree" tabindex="0" role="region" aria-label=${t('job.payload')}><${Node} value=${tree} depth=${0} /></div>`
      : html`<pre class="bytes" tabindex="0">${own === null ? dump(bytes) : html`<${Text} text=${own} />`}</pre>`}`;
}
