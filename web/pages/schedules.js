// Schedules: when they add jobs, in words, over the next week, and how it went.
import { at, get, post, put, remove } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { counted, until, when, whole } from '../lib/format.js';
import { cronWords } from '../lib/cron.js';
import { href, jobsHref } from '../lib/place.js';
import { term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html, useEffect, useState } from '../lib/view.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field, numberOf } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { Act, Card, Empty, Foreign, Head, Shown, State, Time } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { toast, toastProblem } from '../ui/toast.js';

const HOUR = 3600000, DAY = 24 * HOUR;

async function act(schedule, word, undo) {
  try {
    const answer = await post(at('schedules', schedule.name, word));
    stir();
    toast({ strong: t(`schedule.did.${word}`), text: schedule.name, show: word === 'trigger' ? href('jobs', answer.id ?? answer.job?.id) : undefined, undo: undo && (() => act(schedule, undo)) });
  } catch (problem) {
    toastProblem(problem);
  }
}

const drop = (schedule) => ask({
  title: t('schedule.remove.ask', { name: schedule.name }), kind: 'danger', label: t('schedule.remove.do'), keep: t('dialog.keep'), body: html`<p>${t('schedule.remove.text')}</p>`,
  confirm: async () => { await remove(at('schedules', schedule.name)); stir(); toast({ strong: t('schedule.removed'), text: schedule.name }); return true; },
});

const texts = ['cron', 'tz', 'type', 'payload', 'queue', 'job_name'];

function bodyOf(fields) {
  const body = { missed: fields.missed, overlap: fields.overlap };
  for (const name of texts) if (fields[name].trim()) body[name] = fields[name].trim();
  if (fields.priority.trim()) body.priority = numberOf(fields.priority) ?? fields.priority;
  return body;
}

const edit = (schedule) => ask({
  title: schedule ? t('schedule.edit', { name: schedule.name }) : t('schedule.new'), label: t('save'), keep: t('dialog.keep'), wide: true,
  fields: { name: schedule?.name ?? '', missed: schedule?.missed ?? 'skip', overlap: schedule?.overlap ?? 'allow', priority: schedule?.priority === null || !schedule ? '' : String(schedule.priority), ...Object.fromEntries(texts.map((name) => [name, schedule?.[name] ?? ''])) },
  body: ({ fields, setFields, error }) => html`<div class="fields two">${!schedule && html`<${Field} whole label=${t('schedule.name')} name="name" value=${fields.name} error=${error} onChange=${(name) => setFields({ name })} />`}
    <${Field} label=${t('schedule.cron')} name="cron" mono hint=${fields.cron ? cronWords(fields.cron) : t('schedule.cron.hint')} value=${fields.cron} error=${error} onChange=${(cron) => setFields({ cron })} />
    ${['tz', 'type', 'queue', 'job_name', 'priority'].map((name) => html`<${Field} key=${name} label=${t(`schedule.f.${name}`)} name=${name} value=${fields[name]} error=${error} onChange=${(text) => setFields({ [name]: text })} />`)}
    <${Field} label=${t('schedule.f.missed')} name="missed" kind="select" options=${['skip', 'once', 'all']} hint=${t('schedule.missed.hint')} value=${fields.missed} onChange=${(missed) => setFields({ missed })} />
    <${Field} label=${t('schedule.f.overlap')} name="overlap" kind="select" options=${['allow', 'skip', 'queue', 'replace']} hint=${t('schedule.overlap.hint')} value=${fields.overlap} onChange=${(overlap) => setFields({ overlap })} />
    <${Field} whole label=${t('job.payload')} name="payload" kind="textarea" mono value=${fields.payload} error=${error} onChange=${(payload) => setFields({ payload })} /></div>`,
  confirm: async (fields) => {
    const kept = schedule ? Object.fromEntries(Object.entries(schedule).filter(([name, value]) => ['command', 'tags', 'max_retries', 'retry_delay', 'retry_window', 'max_run_time', 'service_time', 'env', 'cwd', 'then', 'on_error', 'group', 'user', 'resources'].includes(name) && value !== null)) : {};
    if (kept.command) delete kept.type;
    await put(at('schedules', fields.name.trim()), { ...kept, ...bodyOf(fields) });
    stir();
    toast({ strong: t('saved'), text: fields.name });
    return true;
  },
});

/** Planned times of the next week for each schedule. */
function useWeek(items) {
  const [week, setWeek] = useState(new Map());
  const key = items.map((one) => `${one.name} ${one.cron} ${one.next_at}`).join();
  useEffect(() => {
    let gone = false;
    Promise.all(items.slice(0, 40).map(async (one) => [one.name, one.paused ? [] : (await get(at('schedules', one.name, 'preview'), { count: 200 }).catch(() => ({ items: [] }))).items.map((x) => Date.parse(x.at))]))
      .then((all) => { if (!gone) setWeek(new Map(all)); });
    return () => { gone = true; };
  }, [key]);
  return week;
}

function Strip({ name, times, now, days }) {
  const width = 700, x = (time) => ((time - now) / (days * DAY)) * width;
  const inside = (times ?? []).filter((time) => time - now < days * DAY);
  return html`<svg class="chart strip-week" viewBox=${`0 0 ${width} 20`} preserveAspectRatio="none" role="img" aria-label=${t('schedule.week.of', { name, n: inside.length })}>
    ${Array.from({ length: days + 1 }, (_, i) => html`<path class="grid-l" d=${`M${(i * width) / days} 0V20`} />`)}${inside.map((time) => html`<rect class="f-run" x=${x(time)} y="4" width="3" height="12" rx="1" />`)}</svg>`;
}

function Week({ items }) {
  const week = useWeek(items);
  const now = Date.now();
  const dayNames = Array.from({ length: 7 }, (_, i) => new Date(now + i * DAY).toLocaleDateString(undefined, { weekday: 'short' }));
  return html`<${Card} title=${t('schedule.week')} question=${t('schedule.week.question')}><div class="week-h" aria-hidden="true"><span></span><span class="week-d">${dayNames.map((day) => html`<span>${day}</span>`)}</span></div>
    ${items.slice(0, 20).map((one) => html`<div class="week-r" key=${one.name}><span class="cut">${one.name}</span><${Strip} name=${one.name} times=${week.get(one.name)} now=${now} days=${7} /></div>`)}<//>`;
}

const columns = () => [
  { id: 'name', label: t('schedule.name'), prime: true, cell: (one) => html`<div class="two"><div class="a"><a href=${jobsHref(term('schedule', one.name))}>${one.name}</a>${one.paused && html` <${State} state="paused" />`}${one.declared && html` <span class="dim">${t('declared')}</span>`}</div><div class="z"><${Foreign} text=${one.type ?? (one.command ?? []).join(' ')} /></div></div>` },
  { id: 'cron', label: t('schedule.when'), cell: (one) => html`<div class="two"><div>${cronWords(one.cron)}</div><div class="z"><code>${one.cron}</code> ${one.tz}</div></div>` },
  { id: 'next', label: t('schedule.next'), cell: (one) => (one.paused || !one.next_at ? '–' : html`<${Time} at=${one.next_at} as=${(x) => `${when(x)}, ${until(x)}`} />`) },
  { id: 'last', label: t('schedule.last'), gone: true, cell: (one) => (one.last_at ? html`<a href=${one.last_job ? href('jobs', one.last_job) : undefined}><${Time} at=${one.last_at} as=${when} /></a>` : '–') },
  { id: 'fired', label: t('schedule.fired'), num: true, gone: true, lg: true, cell: (one) => html`${whole(one.fired_count)}${one.missed_count > 0 && html` <span class="bad">${t('schedule.missed', { n: one.missed_count })}</span>`}` },
  { id: 'acts', label: t('actions'), hidden: true, cell: (one) => html`<div class="rowacts"><${Act} small kind="soft" aria-label=${t('schedule.trigger.of', { name: one.name })} onClick=${() => act(one, 'trigger')}>${t('schedule.trigger')}<//>
    ${one.paused ? html`<${Act} small kind="soft" aria-label=${t('schedule.resume.of', { name: one.name })} onClick=${() => act(one, 'resume', 'pause')}>${t('resume')}<//>` : html`<${Act} small kind="soft" aria-label=${t('schedule.pause.of', { name: one.name })} onClick=${() => act(one, 'pause', 'resume')}>${t('schedule.pause')}<//>`}
    <${Act} small kind="soft" scope="admin" disabled=${one.declared} aria-label=${t('schedule.edit', { name: one.name })} onClick=${() => edit(one)}>${t('alert.change')}<//><${Act} small kind="danger-quiet" scope="admin" disabled=${one.declared} aria-label=${t('schedule.remove.of', { name: one.name })} onClick=${() => drop(one)}>${t('alert.remove')}<//></div>` },
];

export default function Schedules() {
  const schedules = useApi('schedules', { limit: 200 }, { every: 5, rest: 20 });
  const items = schedules.data?.items ?? [];
  const next = items.filter((one) => !one.paused && one.next_at).sort((a, b) => Date.parse(a.next_at) - Date.parse(b.next_at))[0];
  const lead = schedules.data && (next ? t('schedule.lead', { name: next.name, in: until(next.next_at) }) : t('schedule.lead.none', { n: counted(items.length, 'schedule') }));
  return html`<${Head} title=${t('page.schedules')} lead=${lead}><${Act} scope="admin" kind="primary" onClick=${() => edit(null)}><${Icon} name="plus" />${t('schedule.new')}<//><//>
    ${items.length > 0 && html`<${Week} items=${items} />`}
    <section class="card" aria-label=${t('page.schedules')}><${Shown} of=${schedules}>${() => (items.length ? html`<${Table} columns=${columns()} rows=${items} keyOf=${(one) => one.name} />` : html`<${Empty} title=${t('schedule.none')}>${t('schedule.none.text')}<//>`)}<//></section>`;
}
