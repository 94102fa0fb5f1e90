// Jobs that belong to this one: its parent, what it waits for, its children, its group.
import { useApi } from '../lib/data.js';
import { href, jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { plain } from '../lib/hidden.js';
import { Card, Foreign, State } from './parts.js';

const BOX = { w: 148, h: 40 }, GAP = 12, WIDTH = 2 * BOX.w + GAP, MOST = 4;

const cut = (text, n = 18) => { const shown = plain(text); return shown.length > n ? `${shown.slice(0, n - 1)}…` : shown; };

function rows(list, top) {
  return list.slice(0, MOST).map((one, i) => {
    const alone = i === list.length - 1 && i % 2 === 0;
    return { ...one, x: alone ? (WIDTH - BOX.w) / 2 : (i % 2) * (BOX.w + GAP), y: top + Math.floor(i / 2) * (BOX.h + GAP) };
  });
}

const bottom = (list, otherwise) => (list.length ? list[list.length - 1].y + BOX.h : otherwise);

function Box({ one, self }) {
  const inside = html`<rect class=${`rel-box ${self ? 'this' : ''}`} x=${one.x} y=${one.y} width=${BOX.w} height=${BOX.h} rx="6" />
    <text class="key" x=${one.x + 10} y=${one.y + 17}>${cut(one.label)}</text><text x=${one.x + 10} y=${one.y + 31}>${cut(one.note, 22)}</text>`;
  return one.to ? html`<a href=${one.to} aria-label=${`${plain(one.label)}, ${one.note}`}>${inside}</a>` : html`<g>${inside}</g>`;
}

function Graph({ before, self, after }) {
  const above = rows(before, 1);
  const me = { ...self, x: (WIDTH - BOX.w) / 2, y: bottom(above, -31) + 32 };
  const below = rows(after, me.y + BOX.h + 32);
  const height = Math.max(me.y + BOX.h, bottom(below, 0)) + 2;
  const curve = (a, b, dash) => html`<path class=${`rel-line ${dash ? 'dash' : ''}`} d=${`M${a.x + BOX.w / 2} ${a.y + BOX.h}C${a.x + BOX.w / 2} ${a.y + BOX.h + 18} ${b.x + BOX.w / 2} ${b.y - 18} ${b.x + BOX.w / 2} ${b.y}`} />`;
  return html`<svg class="chart" viewBox=${`0 0 ${WIDTH} ${height}`} height=${height} role="group" aria-label=${t('rel.title')}>
    ${above.map((one) => curve(one, me, false))}${below.map((one) => curve(me, one, one.dash))}
    ${above.map((one) => html`<${Box} one=${one} />`)}<${Box} one=${me} self />${below.map((one) => html`<${Box} one=${one} />`)}</svg>`;
}

const box = (job, word) => ({ id: job.id, label: job.name ?? job.type ?? job.id, note: `${word}${job.state ? `, ${job.state}` : ''}`, to: href('jobs', job.id), state: job.state, word });

export function Relations({ job }) {
  const [asTable, setAsTable] = useState(false);
  const after = (job.after ?? []).map((one) => (typeof one === 'string' ? one : one.id));
  const ids = [...(job.parent ? [job.parent] : []), ...after];
  const known = useApi(ids.length ? 'jobs' : null, { q: `id:${ids.slice(0, 20).join(',')}`, limit: 20 }, { every: 5 });
  const children = useApi('jobs', { q: term('parent', job.id), limit: MOST + 1 }, { every: 5, rest: 30 });
  const find = (id) => known.data?.items.find((one) => one.id === id) ?? { id };
  const before = [...(job.parent ? [box(find(job.parent), t('rel.parent'))] : []), ...after.map((id) => box(find(id), t('rel.after')))];
  const kids = children.data?.items ?? [];
  const next = [...kids.slice(0, MOST).map((one) => box(one, t('rel.child'))),
    ...[['then', job.then], ['onerror', job.on_error]].filter(([, type]) => type && !kids.length).map(([word, type]) => ({ label: type, note: t(`rel.${word}`), dash: true, word: t(`rel.${word}`) }))];
  if (before.length + next.length === 0) return null;
  const all = [...before, ...next];
  return html`<${Card} title=${t('rel.title')} className="po-6" right=${html`<button type="button" onClick=${() => setAsTable(!asTable)}>${t(asTable ? 'chart.plot' : 'chart.table')}</button>`}>
    ${asTable ? html`<table class="compact"><tbody>${all.map((one) => html`<tr><td>${one.word}</td><td>${one.to ? html`<a class="link" href=${one.to}><${Foreign} text=${one.label} /></a>` : one.label}</td><td>${one.state && html`<${State} state=${one.state} />`}</td></tr>`)}</tbody></table>`
      : html`<${Graph} before=${before} after=${next} self=${{ label: job.name ?? job.type, note: `${t('rel.this')}, ${job.state}` }} />`}
    ${kids.length > MOST && html`<p><a class="link" href=${jobsHref(term('parent', job.id))}>${t('rel.all')}</a></p>`}<//>`;
}
