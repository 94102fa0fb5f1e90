// A table of things, which becomes cards on phones.
import { href } from '../lib/place.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';

/**
 * columns: [{id, label, cell: (row) => ..., num, prime, whole, gone, lg, width}]
 *   prime: the cell that names the row; gone: left out on phones; lg: left out on tablets
 */
export function Table({ columns, rows, keyOf }) {
  const names = (one) => [one.num && 'num', one.prime && 'prime', one.whole && 'whole', one.gone && 'gone', one.lg && 'lg'].filter(Boolean).join(' ');
  return html`<div class="tw"><table class="cards"><thead><tr>${columns.map((one) => html`
      <th scope="col" class=${`${one.num ? 'num' : ''} ${one.lg ? 'lg' : ''} ${one.width ?? ''}`}>${one.hidden ? html`<span class="sr">${one.label}</span>` : one.label}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${keyOf(row)}>${columns.map((one) => html`
      <td class=${names(one)} data-label=${one.prime || one.whole || one.hidden ? undefined : one.label}>${one.cell(row)}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** Links to the first and the next page of a list with a cursor. */
export function Pager({ path, query = {}, cursor, next }) {
  if (!cursor && !next) return null;
  return html`<div class="foot"><span class="r">${cursor && html`<a class="btn small soft" href=${href(path, query)}>${t('first')}</a>`}
    ${next && html`<a class="btn small soft" href=${href(path, { ...query, cursor: next })}>${t('next')}</a>`}</span></div>`;
}
