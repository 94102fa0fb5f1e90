// Settings: what holds for the whole daemon, changed while it runs; and this browser's own.
import { patch } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { remember, remembered } from '../lib/remember.js';
import { language, languages, setLanguage, t } from '../lib/text.js';
import { setTheme, theme, themes } from '../lib/theme.js';
import { useValue } from '../lib/value.js';
import { html, useState } from '../lib/view.js';
import { stir } from '../ui/actions.js';
import { Field, numberOf } from '../ui/form.js';
import { Act, Card, Head, Segments, Shown, Trouble } from '../ui/parts.js';
import { toast } from '../ui/toast.js';

/** The settings in groups; kind says what a field takes. */
const groups = [
  ['work', [['max_concurrent_jobs', 'number'], ['enabled', 'check'], ['fairness', ['lane', 'tenant']], ['poll_interval'], ['grace']]],
  ['trouble', [['retry_delay'], ['retry_delay_max'], ['retry_window'], ['error_handler_job'], ['on_error', ['keep', 'delete']], ['chain_max', 'number']]],
  ['stale', [['job_stale_interval'], ['controller_stale_interval']]],
  ['keep', [['keep_done'], ['keep_other']]],
];

const shown = (x) => (x === null || x === undefined ? '' : x);

function valueOf(kind, given) {
  if (kind === 'check') return given;
  if (kind === 'number') return numberOf(given) ?? given;
  return String(given).trim() === '' ? null : String(given).trim();
}

function Group({ id, rows, config, onSaved }) {
  const first = Object.fromEntries(rows.map(([name]) => [name, shown(config[name])]));
  const [fields, setFields] = useState({});
  const [error, setError] = useState(null);
  const now = { ...first, ...fields };
  const changed = rows.filter(([name]) => String(now[name]) !== String(first[name]));
  const save = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      await patch('config', Object.fromEntries(changed.map(([name, kind]) => [name, valueOf(kind, now[name])])));
      toast({ strong: t('saved'), text: changed.map(([name]) => t('was', { name: t(`set.${name}`), now: String(now[name]) || t('none'), was: String(first[name]) || t('none') })).join('; ') });
      setFields({});
      stir();
      onSaved();
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<${Card} title=${t(`set.group.${id}`)}><form class="fields" onSubmit=${save} novalidate><div class="fields two">${rows.map(([name, kind]) => html`
      <${Field} key=${name} label=${t(`set.${name}`)} name=${name} hint=${t(`set.${name}.hint`)} value=${now[name]} error=${error} kind=${Array.isArray(kind) ? 'select' : kind ?? 'text'} options=${Array.isArray(kind) ? kind : undefined}
        onChange=${(value) => setFields({ ...fields, [name]: value })} />`)}</div>
    ${error && !error.pointer && html`<${Trouble} error=${error} />`}
    <div class="row-b"><${Act} scope="admin" kind="primary" type="submit" disabled=${changed.length === 0}>${t('save')}<//>${changed.length > 0 && html`<button type="button" class="btn" onClick=${() => { setFields({}); setError(null); }}>${t('dialog.keep')}</button>`}</div></form><//>`;
}

function Browser() {
  const now = useValue(theme);
  const lang = useValue(language);
  const [keys, setKeys] = useState(remembered('keys', true));
  return html`<${Card} title=${t('set.browser')} question=${t('set.browser.question')}><div class="fields">
    <div class="field"><span class="label">${t('set.theme')}</span><${Segments} label=${t('set.theme')} options=${themes.map((id) => ({ id, label: t(`theme.${id}`) }))} chosen=${now} onChoose=${setTheme} /></div>
    <div class="field"><span class="label">${t('set.language')}</span><${Segments} label=${t('set.language')} options=${Object.entries(languages).map(([id, label]) => ({ id, label }))} chosen=${lang} onChoose=${setLanguage} /></div>
    <${Field} kind="check" label=${t('set.keys')} value=${keys} onChange=${(on) => { setKeys(on); remember('keys', on); }} /></div><//>`;
}

export default function Settings() {
  const config = useApi('config', {}, { every: 5, rest: 30 });
  return html`<${Head} title=${t('page.settings')} lead=${config.data && t(config.data.enabled ? 'set.lead' : 'set.lead.off', { n: config.data.max_concurrent_jobs })} />
    ${config.data ? html`<div class="cols">${groups.map(([id, rows]) => html`<${Group} key=${id} id=${id} rows=${rows} config=${config.data} onSaved=${config.reload} />`)}<${Browser} /></div>`
      : html`<div class="card"><${Shown} of=${config}>${() => null}<//></div><${Browser} />`}`;
}
