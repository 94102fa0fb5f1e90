// The frame around every page: rail, top bar, phone bar, banners, keys, and the page itself.
import { contact } from '../lib/api.js';
import { useApi } from '../lib/data.js';
import { clock, span, whole } from '../lib/format.js';
import { useKeys } from '../lib/keys.js';
import { beat, paused } from '../lib/live.js';
import { docsRoot, go, href, jobsHref, place } from '../lib/place.js';
import { has, identity, locked, setTenant, signOut, tenant, token } from '../lib/session.js';
import { language, languages, setLanguage, t } from '../lib/text.js';
import { nextTheme, theme } from '../lib/theme.js';
import { useValue } from '../lib/value.js';
import { Component, html, useEffect, useRef, useState } from '../lib/view.js';
import { groups, pageOf, pages } from '../pages.js';
import { Dialogs, ask } from './dialog.js';
import { Icon, Logo } from './icon.js';
import { Empty, Head, Trouble } from './parts.js';
import { SignIn } from './signin.js';
import { Toasts } from './toast.js';

const STALE_S = 10, BANNER_S = 30;
const JOB_ID = /^[0-9a-hjkmnp-tv-z]{13}$/;

const there = (page) => !page.api || has(page.api);

function Counts({ id, counts }) {
  const n = counts[id];
  if (!n) return null;
  return html`<span class=${`n ${id === 'alerts' ? 'bad' : ''}`}>${whole(n)}</span>`;
}

function Nav({ current, counts, onGo }) {
  const here = current?.page.under ?? current?.page.id;
  return html`<nav class="nav" aria-label=${t('nav.pages')} onClick=${onGo}>${groups.map((group) => {
    const rows = pages.filter((page) => page.group === group && there(page));
    return rows.length > 0 && html`<div class="nav-h">${t(`nav.${group}`)}</div><ul>${rows.map((page) => html`
      <li><a href=${href(page.path)} aria-current=${here === page.id ? 'page' : undefined} title=${t(`page.${page.id}`)}>
        <${Icon} name=${page.icon ?? page.id} /><span>${t(`page.${page.id}`)}</span><${Counts} id=${page.id} counts=${counts} /></a></li>`)}</ul>`;
  })}</nav>`;
}

function Tenant() {
  const chosen = useValue(tenant);
  const me = useValue(identity);
  const all = useApi(me && (me.tenant ?? '*') === '*' ? 'tenants' : null, { limit: 200 }, { rest: 60, every: 60 });
  const names = new Set(['default', ...(all.data?.items ?? []).map((one) => one.name), ...(chosen ? [chosen] : [])]);
  if (names.size < 2) return html`<div class="tenant">${t('tenant')} <b>${!me?.tenant || me.tenant === '*' ? 'default' : me.tenant}</b></div>`;
  return html`<label class="tenant">${t('tenant')}
    <select value=${chosen ?? 'default'} onChange=${(e) => { setTenant(e.target.value === 'default' ? null : e.target.value); go(href('')); }}>
      ${[...names].map((name) => html`<option value=${name} selected=${name === (chosen ?? 'default')}>${name}</option>`)}
    </select></label>`;
}

function Foot() {
  const now = useValue(theme);
  const lang = useValue(language);
  const me = useValue(identity);
  const signed = useValue(token);
  const order = Object.keys(languages);
  const next = order[(order.indexOf(lang) + 1) % order.length];
  const scopes = me?.scopes?.includes('admin') ? 'admin' : me?.scopes?.join(', ');
  return html`<div class="rail-foot">
    <div class="who cut">${me?.who && html`<b class="cut">${me.who.replace(/^token:/, '')}</b>`}${scopes && html`<span title=${scopes}>${scopes}</span>`}</div>
    <button type="button" class="btn quiet icon" aria-label=${t('theme.now', { name: t(`theme.${now}`) })} title=${t(`theme.${now}`)} onClick=${nextTheme}><${Icon} name="theme" /></button>
    <button type="button" class="btn quiet icon" aria-label=${t('language.next', { name: languages[next] })} onClick=${() => setLanguage(next)}>${lang}</button>
    <a class="btn quiet icon" href=${docsRoot.href} target="_blank" rel="noopener" aria-label=${t('docs')}><${Icon} name="docs" /></a>
    ${signed && html`<button type="button" class="btn quiet icon" aria-label=${t('sign.out')} onClick=${signOut}><${Icon} name="out" /></button>`}
  </div>`;
}

function Search({ autofocus = false, onDone }) {
  const box = useRef();
  useKeys({ '/': () => { box.current?.focus(); box.current?.select(); } });
  useEffect(() => { if (autofocus) box.current?.focus(); }, []);
  const submit = (event) => {
    event.preventDefault();
    const text = box.current.value.trim();
    if (JOB_ID.test(text)) go(href('jobs', text));
    else go(jobsHref(text === '' || /[:"]/.test(text) ? text : `name:${JSON.stringify(`${text}*`)}`));
    box.current.value = '';
    box.current.blur();
    onDone?.();
  };
  return html`<form class="search" role="search" onSubmit=${submit}><${Icon} name="search" />
    <input ref=${box} type="search" aria-label=${t('search')} placeholder=${t('search')} autocomplete="off" spellcheck="false"
      onBlur=${() => onDone?.()} /><kbd class="desk">/</kbd></form>`;
}

/** Seconds since the daemon last answered, drawn again at each beat and while it is away. */
function useSilence() {
  const { at } = useValue(contact);
  useValue(beat);
  return Math.max(0, Math.round((Date.now() - at) / 1000));
}

function Live({ brief = false }) {
  const silence = useSilence();
  const off = useValue(paused);
  const kind = off ? 'off' : (silence > STALE_S ? 'stale' : 'on');
  const toggle = () => paused.set(!off);
  return html`<button type="button" class=${`live ${kind}`} aria-label=${t(off ? 'live.start' : 'live.pause')} title=${t(off ? 'live.start' : 'live.pause')} onClick=${toggle}>
    <span class="dot"></span><span class="t">${t(`live.${kind}`)}${brief ? '' : t('live.ago', { span: span(silence, { short: true }) })}</span></button>`;
}

function Strip({ stats }) {
  const jobs = stats?.jobs ?? {};
  const slots = stats?.cluster ?? stats?.slots;
  return html`<div class="strip">
    <a href=${jobsHref('state:ready')}><b>${whole(jobs.ready)}</b>${t('strip.ready')}</a>
    <a href=${jobsHref('state:running')}><b>${whole(jobs.running)}</b>${slots?.slots ?? slots?.total ? t('strip.of', { n: whole(slots.slots ?? slots.total) }) : t('strip.running')}</a>
    <a href=${jobsHref('state:retrying')}><b>${whole(jobs.retrying)}</b>${t('strip.retrying')}</a>
    <a href=${jobsHref('state:rejected')}><b class=${jobs.rejected ? 'bad' : ''}>${whole(jobs.rejected)}</b>${t('strip.rejected')}</a>
  </div>`;
}

function Lost() {
  const silence = useSilence();
  const { lost, at } = useValue(contact);
  if (!lost || (silence < BANNER_S && Date.now() - lost < 3000)) return null;
  return html`<div class="banner" role="status"><${Icon} name="lost" />
    <div><b>${t('lost.since', { at: clock(at, { seconds: true }) })}</b> ${t('lost.text')}</div></div>`;
}

/** Keeps the frame when a page breaks: says so in place of the page. */
class Guard extends Component {
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }

  componentDidUpdate(before) {
    if (before.at !== this.props.at && this.state.error) this.setState({ error: null });
  }

  render({ children }, { error }) {
    return error ? html`<${Trouble} error=${{ title: t('page.broken'), detail: String(error.message ?? error) }} retry=${() => this.setState({ error: null })} />` : children;
  }
}

function usePage(current) {
  const [loaded, setLoaded] = useState({});
  useEffect(() => {
    if (!current) return undefined;
    let gone = false;
    current.page.load().then(
      (module) => { if (!gone) setLoaded({ id: current.page.id, Page: module.default }); },
      (error) => { if (!gone) setLoaded({ id: current.page.id, error }); },
    );
    return () => { gone = true; };
  }, [current?.page.id]);
  return loaded.id === current?.page.id ? loaded : {};
}

function Page({ current, query }) {
  const { Page: Shown, error } = usePage(current);
  useEffect(() => {
    document.title = current ? `${current.params.name ?? current.params.id ?? t(`page.${current.page.id}`)} · pawl` : 'pawl';
  });
  if (!current) {
    return html`<${Head} title=${t('page.none')} /><div class="card"><${Empty} title=${t('page.none.text')}
      actions=${html`<a class="btn" href=${href('')}>${t('page.overview')}</a>`} /></div>`;
  }
  if (error) return html`<${Trouble} error=${{ title: t('page.broken'), detail: String(error.message) }} retry=${() => location.reload()} />`;
  return Shown && html`<${Shown} ...${current.params} query=${query} />`;
}

function Sheet({ current, counts, onClose }) {
  return html`<div class="sheet"><${Nav} current=${current} counts=${counts} onGo=${onClose} /><${Tenant} /><${Foot} /></div>`;
}

function TabBar({ current, counts, open, setOpen }) {
  const here = current?.page.under ?? current?.page.id;
  const tabs = pages.filter((page) => page.tab && there(page));
  return html`<nav class="tabbar" aria-label=${t('nav.main')}>${tabs.map((page) => html`
    <a href=${href(page.path)} aria-current=${here === page.id ? 'page' : undefined} onClick=${() => setOpen(false)}><${Icon} name=${page.icon ?? page.id} />${t(`page.${page.id}`)}
      ${page.id === 'alerts' && counts.alerts > 0 && html`<span class="pip">${counts.alerts}</span>`}</a>`)}
    <button type="button" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}><${Icon} name="more" />${t('nav.more')}</button></nav>`;
}

const HELP = [['?', 'keys.help'], ['/', 'keys.search'], ['g o', 'keys.go'], ['j k', 'keys.move'], ['Enter', 'keys.open'], ['x', 'keys.select'],
  ['*', 'keys.all'], ['r c h', 'keys.act'], ['.', 'keys.live'], ['t', 'keys.theme'], ['Esc', 'keys.close']];

const showKeys = () => ask({
  title: t('keys.title'),
  body: html`<table class="compact"><tbody>${HELP.map(([key, text]) => html`<tr><td>${key.split(' ').map((k) => html`<kbd>${k}</kbd> `)}</td><td>${t(text)}</td></tr>`)}
    ${pages.filter((page) => page.key && there(page)).map((page) => html`<tr><td><kbd>g</kbd> <kbd>${page.key}</kbd></td><td>${t(`page.${page.id}`)}</td></tr>`)}</tbody></table>`,
  keep: t('dialog.close'),
});

function useFrameKeys() {
  const jumps = Object.fromEntries(pages.filter((page) => page.key && there(page)).map((page) => [`g ${page.key}`, () => go(href(page.path))]));
  useKeys({ ...jumps, '.': () => paused.set(!paused.get()), t: nextTheme, '?': showKeys });
}

function useCounts() {
  const alerts = useApi('alerts', {}, { every: 5, rest: 15 });
  const stats = useApi('stats', {}, { every: 2, rest: 10 });
  return { stats: stats.data, counts: { alerts: alerts.data?.items.length ?? 0, queues: stats.data?.queues?.length ?? 0, nodes: stats.data?.cluster?.nodes ?? 0 } };
}

function Inside() {
  const { path, query } = useValue(place);
  const current = pageOf(path);
  const { stats, counts } = useCounts();
  const [sheet, setSheet] = useState(false);
  const [searching, setSearching] = useState(false);
  const main = useRef();
  const first = useRef(true);
  useFrameKeys();
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [path]);
  const me = useValue(identity);
  const brand = html`<a class="brand" href=${href('')} aria-label="pawl"><${Logo} /><span>pawl</span></a>`;
  const env = me?.environment && html`<span class=${`env ${me.environment}`}>${me.environment}</span>`;
  return html`<a class="sr skip" href="#main" onClick=${(e) => { e.preventDefault(); main.current?.focus(); }}>${t('skip')}</a>
    <div class="app">
      <div class="rail">${brand}${env}<${Tenant} /><${Nav} current=${current} counts=${counts} /><${Foot} /></div>
      <div class="main">
        <header class="top"><${Search} /><${Strip} stats=${stats} /><${Live} /></header>
        <header class="topm">${brand}${env}<${Live} brief />
          <button type="button" class="btn quiet icon" aria-label=${t('search')} onClick=${() => setSearching(true)}><${Icon} name="search" /></button>
          ${searching && html`<${Search} autofocus onDone=${() => setSearching(false)} />`}</header>
        <main class="page" id="main" tabindex="-1" ref=${main}>
          <${Lost} />
          <${Guard} at=${path}><${Page} current=${current} query=${query} /><//>
        </main>
      </div>
    </div>
    <${TabBar} current=${current} counts=${counts} open=${sheet} setOpen=${setSheet} />
    ${sheet && html`<${Sheet} current=${current} counts=${counts} onClose=${() => setSheet(false)} />`}
    <${Toasts} /><${Dialogs} />`;
}

export function App() {
  useValue(language);
  useValue(identity);
  const problem = useValue(locked);
  const who = `${useValue(tenant)} ${useValue(token) ? 'signed' : ''}`;
  return problem ? html`<${SignIn} problem=${problem} />` : html`<${Inside} key=${who} />`;
}
