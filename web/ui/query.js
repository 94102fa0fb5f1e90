// The query box: one line, with suggestions for fields and for values that are known.
import { get } from '../lib/api.js';
import { fields, states } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html, useEffect, useRef, useState, useUid } from '../lib/view.js';
import { Icon } from './icon.js';

const known = {
  state: async () => states,
  queue: async () => (await get('queues', { limit: 200 })).items.map((one) => one.name),
  type: async () => (await get('handlers', { limit: 200 })).items.map((one) => one.type ?? one.name),
  schedule: async () => (await get('schedules', { limit: 200 })).items.map((one) => one.name),
  created: async () => ['>-1h', '>-24h', '>-7d'],
  run: async () => ['>10s', '>1m', '>10m'],
  priority: async () => ['>=5', '<0', '0'],
};

/** What could stand where the last word stands: [{insert, note}]. */
async function suggest(text) {
  const word = /\S*$/.exec(text)[0];
  const [, minus, field, begun] = /^(-?)(?:([a-z]+):)?(.*)$/.exec(word);
  if (!field) return fields.filter((one) => one.startsWith(begun)).map((one) => ({ insert: `${minus}${one}:`, note: t(`field.${one}`), open: true }));
  if (!known[field]) return [];
  const last = begun.split(',').pop();
  const before = begun.slice(0, begun.length - last.length);
  const values = await known[field]().catch(() => []);
  return values.filter((one) => one.startsWith(last) && one !== last).slice(0, 12).map((one) => ({ insert: `${minus}${field}:${before}${one}`, note: '' }));
}

export function QueryBox({ q, problem, onQuery }) {
  const [text, setText] = useState(q);
  const [list, setList] = useState([]);
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const box = useRef();
  const id = useUid('query');
  useEffect(() => setText(q), [q]);
  useEffect(() => {
    if (!open) return undefined;
    let gone = false;
    suggest(text).then((found) => { if (!gone) { setList(found); setAt(-1); } });
    return () => { gone = true; };
  }, [text, open]);
  const take = (one) => {
    setText(text.replace(/\S*$/, one.insert) + (one.open ? '' : ' '));
    box.current.focus();
  };
  const send = () => { setOpen(false); onQuery(text.trim()); };
  const pressed = (event) => {
    if (event.key === 'ArrowDown' && list.length) { event.preventDefault(); setOpen(true); setAt((at + 1) % list.length); }
    else if (event.key === 'ArrowUp' && list.length) { event.preventDefault(); setAt((at + list.length - 1) % list.length); }
    else if (event.key === 'Tab' && open && at >= 0) { event.preventDefault(); take(list[at]); }
    else if (event.key === 'Escape') setOpen(false);
    else if (event.key === 'Enter') { event.preventDefault(); if (open && at >= 0) take(list[at]); else send(); }
  };
  const shows = open && list.length > 0;
  return html`<div class="query" role="search"><${Icon} name="search" />
    <input ref=${box} role="combobox" aria-label=${t('jobs.query')} aria-expanded=${String(shows)} aria-controls=${`${id}-list`} aria-activedescendant=${at >= 0 ? `${id}-${at}` : undefined}
      aria-autocomplete="list" aria-invalid=${problem ? 'true' : undefined} aria-describedby=${problem ? `${id}-problem` : undefined} placeholder=${t('jobs.query.hint')} value=${text} autocomplete="off" spellcheck="false"
      onInput=${(e) => { setText(e.target.value); setOpen(true); }} onFocus=${() => setOpen(true)} onBlur=${() => setTimeout(() => setOpen(false), 150)} onKeyDown=${pressed} />
    ${text && html`<button type="button" class="btn quiet icon small" aria-label=${t('jobs.clear')} onClick=${() => { setText(''); onQuery(''); }}><${Icon} name="close" /></button>`}
    ${problem && html`<span id=${`${id}-problem`} class="sr">${problem.detail}</span>`}
    <ul class="menu" id=${`${id}-list`} role="listbox" aria-label=${t('jobs.suggestions')} hidden=${!shows}>${list.map((one, i) => html`
      <li id=${`${id}-${i}`} role="option" aria-selected=${String(i === at)} onMouseDown=${(e) => { e.preventDefault(); take(one); }}><code>${one.insert}</code><span class="r">${one.note}</span></li>`)}</ul></div>`;
}
