// Groups: how far jobs that belong together are. The API knows a group by its name, so the page
// begins with those of the newest jobs and a box for any other.
import { at, post, put } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { counted, whole } from '../lib/format.js';
import { go, href, jobsHref } from '../lib/place.js';
import { states, term } from '../lib/query.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { Bar } from '../charts/small.js';
import { stir } from '../ui/actions.js';
import { ask } from '../ui/dialog.js';
import { Field } from '../ui/form.js';
import { Act, Card, Empty, Head, Shown, State, Trouble } from '../ui/parts.js';
import { toast } from '../ui/toast.js';

const act = (group, word) => ask({
  title: t(`group.${word}.ask`, { name: group.name }), label: t(`group.${word}.do`), keep: t('bulk.keep'), body: html`<p>${t(`group.${word}.text`)}</p>`,
  confirm: async () => { const operation = await post(at('groups', group.name, word)); stir(); toast({ strong: t(`bulk.did.${word}`), operation, onEnd: stir }); return true; },
});

const setThen = (group) => ask({
  title: t('group.then.ask', { name: group.name }), label: t('save'), keep: t('dialog.keep'), fields: { then: group.then ?? '' },
  body: ({ fields, setFields, error }) => html`<${Field} label=${t('group.then')} name="then" hint=${t('group.then.hint')} value=${fields.then} error=${error} onChange=${(then) => setFields({ then })} />`,
  confirm: async ({ then }) => { await put(at('groups', group.name), { then: then.trim() || null }); stir(); toast({ strong: t('saved'), text: group.name }); return true; },
});

function One({ name }) {
  const group = useApi(`groups/${encodeURIComponent(name)}`, {}, { every: 2, rest: 10 });
  const crumb = html`<a href=${href('groups')}>${t('page.groups')}</a>`;
  if (!group.data) return html`<${Head} title=${name} crumb=${crumb} />${group.error ? html`<${Trouble} error=${group.error} retry=${group.reload} />` : html`<div class="card"><${Shown} of=${group} /></div>`}`;
  const it = group.data;
  const rows = states.filter((state) => it.counts[state]);
  return html`<${Head} title=${name} crumb=${crumb} lead=${t('group.lead', { finished: whole(it.finished), total: counted(it.total, 'job'), progress: it.progress })}>
      <a class="btn" href=${jobsHref(term('group', name))}>${t('page.jobs')}</a><${Act} onClick=${() => setThen(it)}>${t('group.then')}…<//><${Act} onClick=${() => act(it, 'retry')}>${t('bulk.retry')}<//><${Act} kind="danger-quiet" disabled=${it.final} onClick=${() => act(it, 'cancel')}>${t('bulk.cancel')}<//><//>
    <${Card} title=${t('group.progress')}><${Bar} part=${it.finished} of=${it.total} fill="f-done" label=${`${it.progress} %`} /><//>
    <${Card} title=${t('queue.states')} flush><div class="tw"><table class="compact"><tbody>${rows.map((state) => html`<tr><td><${State} state=${state} /></td><td class="num"><a class="link" href=${jobsHref(`state:${state} ${term('group', name)}`)}>${whole(it.counts[state])}</a></td></tr>`)}</tbody></table></div><//>
    ${(it.then || it.completion) && html`<${Card} title=${t('group.then')}><p>${it.then} ${it.completion && html`<a class="link mono" href=${href('jobs', it.completion)}>${it.completion}</a>`}</p><//>`}`;
}

function All() {
  const [name, setName] = useState('');
  const recent = useApi('jobs', { limit: 200 }, { every: 10, rest: 60 });
  const seen = new Map();
  for (const job of recent.data?.items ?? []) if (job.group) seen.set(job.group, (seen.get(job.group) ?? 0) + 1);
  const open = (event) => { event.preventDefault(); if (name.trim()) go(href('groups', name.trim())); };
  return html`<${Head} title=${t('page.groups')} lead=${t('group.all.lead')} />
    <form class="card card-b filterform" onSubmit=${open}><${Field} label=${t('group.name')} name="name" value=${name} onChange=${setName} /><button type="submit" class="btn">${t('open')}</button></form>
    <section class="card" aria-label=${t('page.groups')}><${Shown} of=${recent}>${() => (seen.size ? html`<div class="tw"><table class="compact"><thead><tr><th scope="col">${t('group.name')}</th><th scope="col" class="num">${t('group.recent')}</th></tr></thead><tbody>${[...seen].map(([group, n]) => html`<tr key=${group}><td><a class="strong" href=${href('groups', group)}>${group}</a></td><td class="num">${whole(n)}</td></tr>`)}</tbody></table></div>` : html`<${Empty} title=${t('group.none')}>${t('group.none.text')}<//>`)}<//></section>`;
}

export default function Groups({ name }) {
  return name ? html`<${One} name=${name} />` : html`<${All} />`;
}
