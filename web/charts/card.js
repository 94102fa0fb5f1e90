// A card around a plot: name, question, unit, legend with present values, and the same as a table.
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { Card } from '../ui/parts.js';

/** The legend: [{label, value, mark: class of a line or an area, dash}]. */
export function Legend({ items }) {
  return html`<ul class="legend">${items.map((one) => html`<li>
    <svg viewBox="0 0 14 10" aria-hidden="true">${one.area
      ? html`<rect class=${one.area} width="14" height="10" rx="2" />`
      : html`<path class=${`ln ${one.line} ${one.dash ? 'dash' : ''}`} d="M0 5h14" />`}</svg>
    ${one.label}${one.value !== undefined && html` <b>${one.value}</b>`}</li>`)}</ul>`;
}

/**
 * table: {head: [text], rows: [{href, cells: [text]}]}; summary: the plot in one sentence.
 */
export function ChartCard({ title, question, unit, legend, table, summary, children, className }) {
  const [asTable, setAsTable] = useState(false);
  const right = html`${unit}${table && html` · <button type="button" onClick=${() => setAsTable(!asTable)}>${t(asTable ? 'chart.plot' : 'chart.table')}</button>`}`;
  return html`<${Card} title=${title} question=${question} right=${right} className=${className}>
    ${legend && html`<${Legend} items=${legend} />`}
    ${asTable ? html`<div class="datatable" tabindex="0" role="region" aria-label=${title}><table class="compact"><thead><tr>${table.head.map((head, i) => html`<th scope="col" class=${i ? 'num' : ''}>${head}</th>`)}</tr></thead>
        <tbody>${table.rows.map((row) => html`<tr>${row.cells.map((cell, i) => html`<td class=${i ? 'num' : ''}>${i === 0 && row.href ? html`<a class="link" href=${row.href}>${cell}</a>` : cell}</td>`)}</tr>`)}</tbody></table></div>`
      : html`<div role="group" aria-label=${summary ?? title}>${children}</div>`}
  <//>`;
}
