// What happened to a job, where the API tells.
import { useApi } from '../lib/data.js';
import { when } from '../lib/format.js';
import { has } from '../lib/session.js';
import { t } from '../lib/text.js';
import { html } from '../lib/view.js';
import { Foreign, Shown, Time } from './parts.js';

const detail = (data) => Object.entries(data ?? {}).filter(([, value]) => value !== null && typeof value !== 'object').map(([key, value]) => `${key} ${value}`).join(', ');

export function JobEvents({ job }) {
  const told = has('jobs/{id}/events');
  const events = useApi(told ? `jobs/${job.id}/events` : null, {}, { every: 3, rest: 30 });
  if (!told) return html`<p class="dim card-b">${t('job.noevents')}</p>`;
  return html`<${Shown} of=${events} rows=${3}>${({ items }) => html`<div class="tw"><table class="compact"><tbody>${items.map((one) => html`
    <tr><td><${Time} at=${one.at} as=${(x) => when(x, { seconds: true })} /></td><td class="strong">${one.type}</td><td>${one.who ?? ''}</td><td class="sub"><${Foreign} text=${detail(one.data)} /></td></tr>`)}</tbody></table></div>`}<//>`;
}
