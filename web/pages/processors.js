// Processors: directories as work. Buckets as a picture of the flow, units, signals.
import { at, post } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { counted, rate, span, whole } from '../lib/format.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field } from '../ui/form.js';
import { Menu } from '../ui/menu.js';
import { Act, Empty, Foreign, Head, Shown } from '../ui/parts.js';
import { toast, toastProblem } from '../ui/toast.js';

const BUCKETS = ['receiving', 'waiting', 'active', 'processed', 'finished', 'sent'];
const SIDE = ['failed', 'paused', 'halted'];
const ASKING = ['purge-all', 'reset-all', 'reset-processed', 'reset-active', 'halt-all', 'destroy'];
const SIGNALS = ['start-monitor', 'stop-monitor', 'start-forwarder', 'stop-forwarder', 'process-all', 're-process-all', 'pause-all', 'resume-all', 'halt-all', 'reset-active', 'reset-processed', 'reset-all', 'purge-all'];

const number = (one, bucket) => { const value = one[bucket]; return Array.isArray(value) ? value.length : Number(value ?? 0); };

async function send(one, signal, unit) {
  const answer = await post(at('processors', one.name, signal), {}, { query: unit ? { unit } : {} });
  stir();
  toast({ strong: t('processor.sent', { signal }), text: `${one.name}${unit ? ` ${unit}` : ''} ${answer?.answer ?? ''}` });
  return true;
}

function signal(one, name) {
  if (!ASKING.includes(name)) return send(one, name).catch(toastProblem);
  return ask({ title: t('processor.ask', { signal: name, name: one.name }), kind: 'danger', label: t('processor.do', { signal: name }), keep: t('dialog.keep'), typed: one.name, body: html`<p>${t('processor.ask.text')}</p>`, confirm: () => send(one, name) });
}

function Flow({ one }) {
  const box = (name, i) => html`<g><rect class=${`rel-box ${number(one, name) > 0 && name === 'active' ? 'this' : ''}`} x=${i * 122} y="1" width="102" height="46" rx="6" /><text x=${i * 122 + 10} y="18">${t(`bucket.${name}`)}</text><text class="key" x=${i * 122 + 10} y="37">${whole(number(one, name))}</text>${i > 0 && html`<path class="rel-line" d=${`M${i * 122 - 20} 24h18`} />`}</g>`;
  return html`<svg class="chart flow desk" viewBox="0 0 714 100" role="img" aria-label=${t('processor.flow', { name: one.name })}>${BUCKETS.map(box)}
      ${SIDE.map((name, i) => html`<g><rect class="rel-box" x=${244 + i * 122} y="62" width="102" height="34" rx="6" /><text x=${254 + i * 122} y="83">${t(`bucket.${name}`)} ${whole(number(one, name))}</text></g>`)}</svg>
    <dl class="kv phone">${[...BUCKETS, ...SIDE].map((name) => html`<dt>${t(`bucket.${name}`)}</dt><dd>${whole(number(one, name))}</dd>`)}</dl>`;
}

function Unit({ one }) {
  const [unit, setUnit] = useState('');
  const [asked, setAsked] = useState(null);
  const found = useApi(asked ? `processors/${encodeURIComponent(one.name)}/units/${encodeURIComponent(asked)}` : null, {}, { every: 2 });
  const look = (event) => { event.preventDefault(); setAsked(unit.trim() || null); };
  const act = (name) => send(one, name, asked).catch(toastProblem);
  return html`<form class="filterform" onSubmit=${look}><${Field} label=${t('processor.unit')} name="unit" value=${unit} onChange=${setUnit} /><button type="submit" class="btn">${t('processor.look')}</button></form>
    ${asked && html`<${Shown} of=${found} rows=${1}>${(data) => html`<p class="row-b"><span class="strong"><${Foreign} text=${data.unit} /></span> ${data.status} ${['process', 're-process', 'pause', 'resume', 'halt', 'purge'].map((name) => html`<${Act} small kind="soft" onClick=${() => act(name)}>${name}<//>`)}</p>`}<//>`}`;
}

function Processor({ one }) {
  const times = one.unit_seconds ?? {};
  return html`<section class="card" aria-label=${one.name}><div class="card-h"><h2>${one.name}</h2><span class=${`b s-${one.processing ? 'running' : 'held'}`}>${t(one.processing ? 'processor.on' : 'processor.off')}</span><span class="q">${t(one.forwarding ? 'processor.forwards' : 'processor.keeps')}</span>
      <span class="r"><${Menu} label=${t('processor.signals')} className="btn small" button=${t('processor.signals')}>${(close) => SIGNALS.map((name) => html`<${Act} onClick=${() => { close(); signal(one, name); }}>${name}<//>`)}<//></span></div>
    <div class="card-b stack"><${Flow} one=${one} />
      <dl class="kv"><dt>${t('processor.slots')}</dt><dd>${whole(one.running)} / ${whole(one.slots)}</dd><dt>${t('processor.rate')}</dt><dd>${rate(one.rate_processing ?? 0)}, ${rate(one.rate_forwarding ?? 0)}</dd><dt>${t('processor.times')}</dt><dd>${span(times.min)} / ${span(times.avg)} / ${span(times.max)}</dd></dl>
      ${(one.problems ?? []).map((text) => html`<div class="banner warn"><div><${Foreign} text=${typeof text === 'string' ? text : JSON.stringify(text)} /></div></div>`)}
      <${Unit} one=${one} /></div></section>`;
}

export default function Processors() {
  const processors = useApi('processors', {}, { every: 2, rest: 5 });
  const items = processors.data?.items ?? [];
  const failed = items.reduce((n, one) => n + number(one, 'failed'), 0);
  return html`<${Head} title=${t('page.processors')} lead=${processors.data && items.length > 0 && t('processor.lead', { processors: counted(items.length, 'processor'), failed: counted(failed, 'unit') })} />
    ${processors.data ? (items.length ? items.map((one) => html`<${Processor} key=${one.name} one=${one} />`) : html`<section class="card" aria-label=${t('page.processors')}><${Empty} title=${t('processor.none')}>${t('processor.none.text')}<//></section>`) : html`<div class="card"><${Shown} of=${processors} /></div>`}`;
}
