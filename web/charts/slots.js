// Who uses the slots: a box for each, by queue.
import { whole } from '../lib/format.js';
import { jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { Legend } from './card.js';

const MOST = 120;

/** [{queue, n}] of what runs, the most first; beyond five queues the rest together. */
function shares(nodes) {
  const count = new Map();
  for (const node of nodes) for (const job of node.running ?? []) count.set(job.queue, (count.get(job.queue) ?? 0) + 1);
  const all = [...count].map(([queue, n]) => ({ queue, n })).sort((a, b) => b.n - a.n);
  if (all.length <= 6) return all;
  return [...all.slice(0, 5), { queue: null, n: all.slice(5).reduce((sum, one) => sum + one.n, 0) }];
}

export function Slots({ nodes }) {
  const total = nodes.reduce((sum, node) => sum + (node.slots ?? 0), 0);
  const used = shares(nodes);
  const busy = used.reduce((sum, one) => sum + one.n, 0);
  const each = Math.max(1, Math.ceil(total / MOST));
  const boxes = used.flatMap((one, i) => Array.from({ length: Math.ceil(one.n / each) }, () => ({ ...one, mark: `c${i + 1}` })));
  const free = Array.from({ length: Math.max(0, Math.ceil(total / each) - boxes.length) });
  return html`<${Legend} items=${[...used.map((one, i) => ({ label: one.queue ?? t('slots.other'), value: whole(one.n), area: `c${i + 1}` })),
      { label: t('slots.free'), value: whole(Math.max(0, total - busy)), area: 'f-track' }]} />
    <div class="slots">${boxes.map((one) => html`<a href=${jobsHref(one.queue ? `state:running ${term('queue', one.queue)}` : 'state:running')} title=${one.queue ?? t('slots.other')} aria-label=${t('slots.running', { queue: one.queue ?? t('slots.other') })}>
      <svg viewBox="0 0 20 24" preserveAspectRatio="none" aria-hidden="true"><rect class=${one.mark} width="20" height="24" rx="3" /></svg></a>`)}
      ${free.map(() => html`<a aria-hidden="true"><svg viewBox="0 0 20 24" preserveAspectRatio="none"><rect class="f-track" width="20" height="24" rx="3" /></svg></a>`)}</div>`;
}
