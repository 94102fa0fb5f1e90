// Where the page stands: the path below /ui/, and how to go elsewhere without loading anew.
// Everything is relative to <base>, which the daemon sets by the depth of the path: so the
// pages work below any sub-path of a proxy.
import { value } from './value.js';

export const uiRoot = new URL('./', document.baseURI);
export const apiRoot = new URL('../api/v1/', uiRoot);
export const docsRoot = new URL('../docs/', uiRoot);

function read() {
  const path = location.pathname.slice(uiRoot.pathname.length);
  return { path, query: new URLSearchParams(location.search) };
}

export const place = value(read());

/** The address of a page: href('jobs', id) and href('jobs', {q}) escape what they get. */
export function href(...parts) {
  const last = parts[parts.length - 1];
  const query = last && typeof last === 'object' ? parts.pop() : null;
  const path = parts.map((part) => String(part).split('/').map(encodeURIComponent).join('%2F'));
  const search = new URLSearchParams();
  for (const [name, given] of Object.entries(query ?? {})) {
    if (given !== undefined && given !== null && given !== '') search.set(name, given);
  }
  const text = search.toString();
  return uiRoot.pathname + path.join('/') + (text ? `?${text}` : '');
}

export const jobsHref = (q, more = {}) => href('jobs', { q, ...more });

export function go(address, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  place.set(read());
  if (!replace) scrollTo(0, 0);
}

function ours(event) {
  if (event.defaultPrevented || event.button !== 0) return null;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null;
  const link = event.target.closest?.('a[href]');
  if (!link || link.target || link.hasAttribute('download')) return null;
  const to = new URL(link.getAttribute('href'), document.baseURI);
  if (to.origin !== location.origin || !to.pathname.startsWith(uiRoot.pathname)) return null;
  if (to.hash && to.pathname === location.pathname) return null;
  return to;
}

export function followLinks() {
  addEventListener('popstate', () => place.set(read()));
  document.addEventListener('click', (event) => {
    const to = ours(event);
    if (!to) return;
    event.preventDefault();
    go(to.pathname + to.search + to.hash);
  });
}
