// Who the reader is: the token and the tenant. The token lives in this tab's session storage
// and in the memory of the other tabs of this origin: a new tab asks them. It is never in a
// URL, a cookie or storage that outlives the tabs.
import { uiRoot } from './place.js';
import { value } from './value.js';

const KEY = `pawl.token ${uiRoot.pathname}`;
const TENANT = `pawl.tenant ${uiRoot.pathname}`;

function kept(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name, what) {
  try {
    if (what === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, what);
  } catch { /* the tab forgets it at the next load */ }
}

export const token = value(kept(KEY));
export const tenant = value(kept(TENANT));

/** What the daemon says about this reader: {who, tenant, scopes, tokens}; null: not known yet. */
export const identity = value(null);

/** Why the reader must sign in: the problem that the daemon answered; null: it is fine. */
export const locked = value(null);

const others = 'BroadcastChannel' in window ? new BroadcastChannel(`pawl session ${uiRoot.pathname}`) : null;

others?.addEventListener('message', ({ data }) => {
  if (data.kind === 'ask' && token.get()) others.postMessage({ kind: 'have', token: token.get() });
  if (data.kind === 'have' && !token.get()) use(data.token);
  if (data.kind === 'left') use(null);
});

function use(secret) {
  keep(KEY, secret);
  token.set(secret);
  if (secret) locked.set(null);
}

export function signIn(secret) {
  use(secret);
  others?.postMessage({ kind: 'have', token: secret });
}

export function signOut() {
  use(null);
  others?.postMessage({ kind: 'left' });
}

export function setTenant(name) {
  keep(TENANT, name);
  tenant.set(name);
}

/** Asks the other tabs for a token, and waits a moment for their answer. */
export function askOthers() {
  if (token.get() || !others) return Promise.resolve();
  others.postMessage({ kind: 'ask' });
  return new Promise((resolve) => {
    const stop = token.listen(resolve);
    setTimeout(() => { stop(); resolve(); }, 60);
  });
}

/** Whether this daemon has a path of the API, such as jobs/{id}/events. */
export const has = (path) => identity.get()?.paths?.includes(`/api/v1/${path}`) ?? false;

/** Whether the reader's token allows what a scope allows; true as long as it is not known. */
export function allows(scope) {
  const scopes = identity.get()?.scopes;
  return !scopes || scopes.includes('admin') || scopes.includes(scope);
}
