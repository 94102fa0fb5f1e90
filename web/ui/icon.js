// Drawings: icons of 16, glyphs of states of 12, and the sign of pawl. All take the colour of
// the text around them.
import { html } from '../lib/view.js';

const icons = {
  overview: 'M2 13V8M6 13V3M10 13V6M14 13V9.5',
  errors: 'M8 2l6.5 11.5h-13zM8 6.5v3M8 11.6v.1',
  alerts: 'M4 11V7a4 4 0 018 0v4l1 1.500H3zM6.800 14.500h2.400',
  jobs: 'M2 4h1M2 8h1M2 12h1M6 4h8M6 8h8M6 12h8',
  queues: 'M2 3h12v2.500H2zM2 7h9v2.500H2zM2 11h5v2.500H2z',
  groups: 'M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z',
  schedules: 'M14 8A6 6 0 112 8a6 6 0 0112 0zM8 4.500V8l2.500 1.500',
  processors: 'M2 4h4v8H2zM10 4h4v8h-4zM6 8h4',
  handlers: 'M6 4L2.500 8 6 12M10 4l3.500 4L10 12',
  nodes: 'M2 2.500h12V7H2zM2 9h12v4.500H2zM4.500 4.800h.1M4.500 11.300h.1',
  workers: 'M10.500 5.500a2.500 2.500 0 11-5 0 2.500 2.500 0 015 0zM3 14c.4-2.800 2.300-4 5-4s4.600 1.200 5 4',
  resources: 'M8 2l6 3-6 3-6-3zM2 8.200l6 3 6-3M2 11.200l6 3 6-3',
  settings: 'M2 4.500h7M13 4.500h1M2 11.500h1M7 11.500h7M13 4.500a2 2 0 11-4 0 2 2 0 014 0zM7 11.500a2 2 0 11-4 0 2 2 0 014 0z',
  tokens: 'M8.500 10.500a3 3 0 11-6 0 3 3 0 016 0zM7.700 8.300L13.500 2.500M11 5l2 2',
  audit: 'M4 2h8v12l-2-1.300L8 14l-2-1.300L4 14zM6.500 5.500h3M6.500 8.500h3',
  search: 'M11.500 7a4.500 4.500 0 11-9 0 4.500 4.500 0 019 0zM10.500 10.500L14 14',
  more: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  dots: 'M3.500 8h.1M8 8h.1M12.500 8h.1',
  down: 'M4 6l4 4 4-4',
  close: 'M4 4l8 8M12 4l-8 8',
  plus: 'M8 3v10M3 8h10',
  copy: 'M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3',
  download: 'M8 2.500V10M4.500 7L8 10.500 11.500 7M3 13.500h10',
  columns: 'M2 3h12v10H2zM6.500 3v10M10.500 3v10',
  star: 'M8 2.300l1.700 3.600 3.900.5-2.900 2.700.8 3.900L8 11.100 4.500 13l.8-3.900L2.400 6.400l3.900-.5z',
  docs: 'M3 2.500h7.500a2 2 0 012 2v9H5a2 2 0 01-2-2zM3 11.500a2 2 0 012-2h7.500',
  lost: 'M2.500 2.500l11 11M4 6.500a6 6 0 011.500-1.200M6.500 12h3M2 5a9 9 0 012-1.500M14 5a9 9 0 00-5-2',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  play: 'M5 3.500l7 4.500-7 4.500z',
  theme: 'M13.500 8a5.500 5.500 0 11-11 0 5.500 5.500 0 0111 0zM8 2.500v11',
  check: 'M3.500 8.500l3 3 6-7',
  out: 'M6 3H3v10h3M7 8h7M11 5l3 3-3 3',
};

/** An icon; it says nothing to screen readers, the words beside it do. */
export function Icon({ name }) {
  return html`<svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d=${icons[name]} /></svg>`;
}

const glyphs = {
  ready: html`<circle cx="6" cy="6" r="3.6" />`,
  running: html`<path d="M3.200 1.800v8.400L10.200 6z" />`,
  deferred: html`<circle class="o" cx="6" cy="6" r="4.600" /><path class="o" d="M6 3.600V6l1.700 1" />`,
  blocked: html`<rect class="o" x="1" y="3.600" width="5.600" height="4.800" rx="2.400" /><rect class="o" x="5.400" y="3.600" width="5.600" height="4.800" rx="2.400" />`,
  held: html`<rect x="2.500" y="2.500" width="7" height="7" rx="1" />`,
  paused: html`<rect x="2.400" y="2" width="2.600" height="8" rx=".8" /><rect x="7" y="2" width="2.600" height="8" rx=".8" />`,
  halted: html`<circle class="o" cx="6" cy="6" r="4.600" /><rect x="4.300" y="4.300" width="3.400" height="3.400" />`,
  retrying: html`<path class="o" d="M10 6a4 4 0 11-1.200-2.900" /><path d="M10.800.9v3.500H7.300z" />`,
  done: html`<path class="o" d="M2 6.400l2.700 2.800L10 3.200" />`,
  failed: html`<path class="o" d="M2.600 2.600l6.800 6.800M9.400 2.600L2.600 9.400" />`,
  rejected: html`<path fill-rule="evenodd" d="M6 .8a5.200 5.200 0 100 10.400A5.200 5.200 0 006 .8zM4.200 3.300L6 5.100l1.800-1.800.9.900L6.900 6l1.800 1.800-.9.900L6 6.900 4.200 8.700l-.9-.9L5.100 6 3.300 4.200z" />`,
  cancelled: html`<circle class="o" cx="6" cy="6" r="4.600" /><path class="o" d="M2.900 9.100l6.200-6.200" />`,
};

export function Glyph({ state, coloured = false }) {
  return html`<svg class=${coloured ? `g s-${state}` : 'g'} viewBox="0 0 12 12" aria-hidden="true">${glyphs[state]}</svg>`;
}

export function Logo() {
  return html`<svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
    <path class="wheel" transform="translate(-1 .5)" d="M12 4.500l1.500 2.300 2.700-.6.6 2.700 2.300 1.500-1.300 2.400 1.300 2.400-2.300 1.500-.6 2.700-2.700-.6L12 21l-1.500-2.200-2.700.6-.6-2.700-2.300-1.500 1.300-2.400-1.300-2.400 2.300-1.500.6-2.700 2.700.6z" />
    <circle class="hub" cx="11" cy="13.300" r="2.200" />
    <path class="arm" d="M21.500 2.500l-5.800 4.600" /><circle class="tip" cx="21.200" cy="2.800" r="2" />
  </svg>`;
}
