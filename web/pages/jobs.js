// Jobs: find them, look at them, act on all that match.
import { useApi } from '../lib/data.js';
import { counted, secondsBetween, secondsSince, span, whole } from '../lib/format.js';
import { useKeys } from '../lib/keys.js';
import { go, href, jobsHref } from '../lib/place.js';
import { finalStates, states, terms, valueOf, withTerm } from '../lib/query.js';
import { remember, remembered } from '../lib/remember.js';
import { t } from '../lib/text.js';
import { html, useEffect, useRef, useState } from '../lib/view.js';
import { actions } from '../ui/actions.js';
import { bulk, idsQuery } from '../ui/bulk.js';
import { Icon } from '../ui/icon.js';
import { Menu } from '../ui/menu.js';
import { Act, Empty, Foreign, Head, Shown, State, Time } from '../ui/parts.js';
import { QueryBox } from '../ui/query.js';

const PAGE = 50;
const TABS = [['', 'all'], ['failed,rejected', 'bad'], ...['ready', 'running', 'retrying', 'deferred', 'blocked', 'held', 'done', 'cancelled'].map((one) => [one, one])];

const ran = (job) => (job.finished_at ? secondsBetween(job.started_at, job.finished_at) : (job.state === 'running' ? secondsSince(job.started_at) : null));

/** The columns there are: id → how a cell looks. `on`: shown unless the reader says otherwise. */
const columns = {
  priority: { num: true, lg: true, width: 'w-s', on: true, cell: (job) => String(job.priority).replace('-', '−') },
  queue: { width: 'w-m', on: false, cell: (job) => html`<a href=${href('queues', job.queue)}>${job.queue}</a>` },
  attempts: { num: true, width: 'w-a', on: true, cell: (job) => `${job.attempt} / ${job.max_retries + 1}` },
  run: { num: true, lg: true, width: 'w-s', on: true, cell: (job) => span(ran(job), { short: true }) },
  age: { num: true, width: 'w-s', on: true, sort: true, cell: (job) => html`<${Time} at=${job.created_at} as=${(at) => span(secondsSince(at), { short: true })} />` },
  node: { width: 'w-m', on: false, cell: (job) => job.node ?? '–' },
  tags: { width: 'w-m', on: false, cell: (job) => job.tags.map((tag) => html`<span class="tag">${tag}</span> `) },
  error: { on: true, grow: true, cell: (job) => html`<div class="cut sub"><${Foreign} text=${(job.error ?? job.reason ?? job.message ?? '').slice(0, 300)} /></div>` },
};

const firstColumns = () => Object.keys(columns).filter((id) => columns[id].on);

function tabCounts(q, stats) {
  const queue = valueOf(q, 'queue');
  const others = terms(q).filter((one) => !/^(state|queue):/.test(one));
  if (!stats || others.length || /[*,"]/.test(queue ?? '')) return null;
  return queue ? stats.queues.find((one) => one.queue === queue)?.jobs ?? {} : stats.jobs;
}

function Tabs({ q }) {
  const stats = useApi('stats', {}, { every: 3 });
  const counts = tabCounts(q, stats.data);
  const now = valueOf(q, 'state') ?? '';
  const number = (value) => (value === '' ? states : value.split(',')).reduce((sum, one) => sum + (counts[one] ?? 0), 0);
  const text = (n) => (n > 10000 ? '10,000+' : whole(n));
  return html`<nav class="tabs" aria-label=${t('jobs.states')}>${TABS.map(([value, word]) => html`
    <a href=${jobsHref(withTerm(q, 'state', value || null))} aria-current=${value === now ? 'page' : undefined}>${t(`jobs.tab.${word}`)}
      ${counts && html`<span class="count">${text(number(value))}</span>`}</a>`)}</nav>`;
}

function Row({ job, shown, selected, cursor, onSelect }) {
  const name = job.name ?? job.type;
  return html`<tr class=${`${selected ? 'sel' : ''} ${cursor ? 'cursor' : ''}`} data-id=${job.id}>
    <td><label class="tick"><input type="checkbox" checked=${selected} aria-label=${t('jobs.select', { name })} onClick=${(e) => onSelect(job.id, e.target.checked, e.shiftKey)} /></label></td>
    <td><${State} state=${job.state} /></td>
    <td class="prime"><div class="two"><div class="a cut"><a href=${href('jobs', job.id)}><${Foreign} text=${name} /></a></div><div class="z cut">${job.name ? `${job.type} ` : ''}<span class="mono">${job.id}</span></div></div></td>
    ${shown.map((id) => html`<td class=${`${columns[id].num ? 'num' : ''} ${columns[id].lg ? 'lg' : ''} ${columns[id].grow ? 'whole' : ''}`} data-label=${columns[id].grow ? undefined : t(`col.${id}`)}>${columns[id].cell(job)}</td>`)}</tr>`;
}

function useSelection(q) {
  const [ids, setIds] = useState(new Map());
  const [all, setAll] = useState(false);
  const last = useRef(null);
  useEffect(() => { setIds(new Map()); setAll(false); }, [q]);
  useEffect(() => {
    document.body.classList.toggle('has-bulk', ids.size > 0 || all);
    return () => document.body.classList.remove('has-bulk');
  }, [ids.size > 0 || all]);
  const choose = (items, id, on, range) => {
    const next = new Map(ids);
    const index = items.findIndex((job) => job.id === id);
    const from = range && last.current !== null ? items.findIndex((job) => job.id === last.current) : index;
    for (const job of items.slice(Math.min(from, index), Math.max(from, index) + 1)) {
      if (on) next.set(job.id, job.state);
      else next.delete(job.id);
    }
    last.current = id;
    setAll(false);
    setIds(next);
  };
  const page = (items, on) => {
    const next = new Map(ids);
    for (const job of items) if (on) next.set(job.id, job.state); else next.delete(job.id);
    setAll(false);
    setIds(next);
  };
  const clear = () => { setIds(new Map()); setAll(false); };
  return { ids, all, setAll, choose, page, clear };
}

const bulkActions = ['retry', 'release', 'resume', 'hold', 'cancel'];

function BulkBar({ q, selection }) {
  const { ids, all, setAll, clear } = selection;
  if (ids.size === 0 && !all) return null;
  const stateSet = all ? (valueOf(q, 'state')?.split(',') ?? null) : [...new Set(ids.values())];
  const fits = (name) => (stateSet ? (all ? stateSet.some((s) => actions[name].from.includes(s)) : stateSet.every((s) => actions[name].from.includes(s))) : true);
  const run = async (name) => { if (await bulk(name, all ? { q } : { q: idsQuery(ids.keys()), chosen: true })) clear(); };
  const offered = bulkActions.filter(fits);
  return html`<div class="bulk" role="region" aria-label=${t('bulk.region')}>
    <span><b>${all ? t('bulk.all') : t('bulk.selected', { n: whole(ids.size) })}</b></span>
    ${!all && html`<button type="button" class="textb" onClick=${() => setAll(true)}>${t('bulk.selectall')}</button>`}
    <span class="r">${offered.map((name, i) => html`<${Act} small kind=${i === 0 ? 'primary' : ''} onClick=${() => run(name)}>${t(`bulk.${name}`)}<//>`)}
      ${(!stateSet || stateSet.some((s) => !finalStates.includes(s))) && html`<${Act} small onClick=${() => run('set')}>${t('bulk.set')}<//>`}
      <${Act} small kind="danger-quiet" onClick=${() => run('rm')}>${t('bulk.rm')}<//>
      <button type="button" class="btn quiet small icon desk" aria-label=${t('bulk.clear')} onClick=${clear}><${Icon} name="close" /></button></span></div>`;
}

function None({ q }) {
  const wider = valueOf(q, 'created') ? withTerm(q, 'created', null) : (valueOf(q, 'state') ? withTerm(q, 'state', null) : '');
  if (!q) return html`<${Empty} title=${t('jobs.none')} actions=${html`<a class="btn primary" href=${href('jobs', 'new')}>${t('jobs.add')}</a>`}>${t('jobs.none.text')}<//>`;
  return html`<${Empty} title=${t('jobs.nomatch')} actions=${html`${wider && html`<a class="btn" href=${jobsHref(wider)}>${t('jobs.wider')}</a>`}<a class="btn soft" href=${jobsHref('')}>${t('jobs.clear')}</a>`}>${html`<code>${q}</code>`}<//>`;
}

function useCursor(items, selection, open) {
  const [at, setAt] = useState(-1);
  const job = items[at];
  const move = (by) => {
    const next = Math.max(0, Math.min(items.length - 1, at + by));
    setAt(next);
    document.querySelector(`tr[data-id="${items[next]?.id}"]`)?.scrollIntoView({ block: 'nearest' });
  };
  const on = (name) => () => { const ids = selection.ids.size ? [...selection.ids.keys()] : (job ? [job.id] : []); if (ids.length) bulk(name, { q: idsQuery(ids), chosen: true }); };
  useKeys({
    j: () => move(1), k: () => move(-1), Enter: () => job && open(job), x: () => job && selection.choose(items, job.id, !selection.ids.has(job.id), false),
    X: () => job && selection.choose(items, job.id, true, true), '*': () => selection.page(items, true), r: on('retry'), c: on('cancel'), h: on('hold'), Escape: selection.clear,
  });
  return job?.id;
}

/** Rows that came on top wait behind a button while the reader has scrolled or selected. */
function useCalm(data, busy) {
  const [shown, setShown] = useState(data);
  const held = shown && data && busy && shown.key === data.key ? shown : data;
  useEffect(() => { if (held === data) setShown(data); }, [data, busy]);
  const fresh = data && held && data !== held ? data.items.findIndex((job) => job.id === held.items[0]?.id) : 0;
  return { data: held, fresh: fresh < 0 ? data.items.length : fresh, show: () => setShown(data) };
}

function List({ q, order, cursor }) {
  const list = useApi('jobs', { q, order: order || undefined, limit: PAGE, cursor }, { every: 2, rest: 30 });
  const selection = useSelection(q);
  const [shown, setShown] = useState(() => remembered('columns', null) ?? firstColumns());
  const [scrolled, setScrolled] = useState(false);
  useEffect(() => {
    const look = () => setScrolled(scrollY > 200);
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  const stamped = list.data && { ...list.data, key: `${q} ${cursor}` };
  const calm = useCalm(stamped ? Object.assign(list.data, { key: stamped.key }) : undefined, scrolled || selection.ids.size > 0);
  const items = calm.data?.items ?? [];
  const at = useCursor(items, selection, (job) => go(href('jobs', job.id)));
  const everyOne = items.length > 0 && items.every((job) => selection.ids.has(job.id));
  const toggle = (id) => { const next = Object.keys(columns).filter((one) => (one === id ? !shown.includes(id) : shown.includes(one))); setShown(next); remember('columns', next); };
  return html`<div class="filters"><${QueryBox} q=${q} problem=${list.error?.code === 'invalid_query' ? list.error : null} onQuery=${(text) => go(jobsHref(text))} />
      <${Menu} label=${t('jobs.columns')} className="btn soft" button=${html`<${Icon} name="columns" /><span>${t('jobs.columns')}</span>`}>${Object.keys(columns).map((id) => html`
        <label><input type="checkbox" checked=${shown.includes(id)} onChange=${() => toggle(id)} />${t(`col.${id}`)}</label>`)}<//></div>
    <${Tabs} q=${q} />
    ${calm.fresh > 0 && html`<button type="button" class="btn soft" onClick=${() => { calm.show(); scrollTo(0, 0); }}>${t('jobs.fresh', { jobs: counted(calm.fresh, 'newjob') })}</button>`}
    <section class="card" aria-label=${t('jobs.match')}><${Shown} of=${list} rows=${10}>${() => (items.length === 0 ? html`<${None} q=${q} />` : html`
      <div class="tw"><table class="fixed cards"><thead><tr><th scope="col" class="w-check"><label class="tick"><input type="checkbox" checked=${everyOne} indeterminate=${!everyOne && selection.ids.size > 0} aria-label=${t('jobs.selectpage')} onClick=${(e) => selection.page(items, e.target.checked)} /></label></th>
        <th scope="col" class="w-m">${t('col.state')}</th><th scope="col" class="w-job">${t('col.job')}</th>
        ${shown.map((id) => html`<th scope="col" class=${`${columns[id].num ? 'num' : ''} ${columns[id].lg ? 'lg' : ''} ${columns[id].width ?? ''}`} aria-sort=${columns[id].sort && !order ? 'descending' : undefined}>${t(`col.${id}`)}</th>`)}</tr></thead>
      <tbody>${items.map((job) => html`<${Row} key=${job.id} job=${job} shown=${shown} selected=${selection.all || selection.ids.has(job.id)} cursor=${job.id === at} onSelect=${(id, on, range) => selection.choose(items, id, on, range)} />`)}</tbody></table></div>
      <div class="foot"><span>${t('jobs.shown', { n: whole(items.length) })}, ${t(order === 'dispatch' ? 'jobs.dispatch' : 'jobs.newest')}${calm.data.partial ? `. ${t('jobs.partial')}` : ''}</span>
        <span class="r">${cursor && html`<a class="btn small soft" href=${jobsHref(q, { order })}>${t('jobs.newer')}</a>`}
          ${calm.data.next_cursor && html`<a class="btn small soft" href=${jobsHref(q, { order, cursor: calm.data.next_cursor })}>${t('jobs.older')}</a>`}</span></div>`)}<//></section>
    <${BulkBar} q=${q} selection=${selection} />`;
}

function Saved({ q }) {
  const [views, setViews] = useState(() => remembered('views', []));
  const keep = (next) => { setViews(next); remember('views', next); };
  return html`<${Menu} label=${t('jobs.views')} className="btn soft" button=${html`<${Icon} name="star" />${t('jobs.views')}`}>${(close) => html`
    ${views.map((one) => html`<button type="button" onClick=${() => { go(jobsHref(one)); close(); }}><code class="cut">${one}</code></button>`)}
    ${q && !views.includes(q) && html`<button type="button" onClick=${() => { keep([...views, q]); close(); }}>${t('jobs.views.keep')}</button>`}
    ${q && views.includes(q) && html`<button type="button" onClick=${() => { keep(views.filter((one) => one !== q)); close(); }}>${t('jobs.views.drop')}</button>`}
    ${!q && views.length === 0 && html`<p class="h">${t('jobs.views.none')}</p>`}`}<//>`;
}

export default function Jobs({ query }) {
  const q = query.get('q') ?? '';
  return html`<${Head} title=${t('page.jobs')}><${Saved} q=${q} /><a class="btn primary" href=${href('jobs', 'new')}><${Icon} name="plus" />${t('jobs.add')}</a><//>
    <${List} q=${q} order=${query.get('order') ?? ''} cursor=${query.get('cursor') ?? ''} />`;
}

