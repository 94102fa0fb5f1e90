// Small drawings in tables: a curve, a bar of a share, a histogram.
import { html } from '../lib/view.js';
import { line } from './scale.js';

export function Spark({ values, width = 84, height = 22 }) {
  const top = Math.max(1, ...values.filter((v) => v !== null));
  const x = (i) => (i * width) / Math.max(1, values.length - 1);
  const y = (v) => height - 1 - (v / top) * (height - 3);
  const path = line(values, x, y);
  return html`<svg class="chart" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
    ${path && html`<path class="a-ready" d=${`${path}L${width} ${height}L0 ${height}Z`} />`}<path class="ln thin l-ready" d=${path} /></svg>`;
}

/** How much of a whole: a track and its filled part. */
export function Bar({ part, of, fill = 'f-run', label }) {
  const share = of > 0 ? Math.min(1, part / of) : 0;
  return html`<svg class="bar" role=${label ? 'img' : undefined} aria-label=${label} aria-hidden=${label ? undefined : 'true'}>
    <rect class="f-track" width="100%" height="6" rx="3" />${share > 0 && html`<rect class=${fill} width=${`${Math.max(2, share * 100)}%`} height="6" rx="3" />`}</svg>`;
}
