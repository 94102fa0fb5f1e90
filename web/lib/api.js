// The API of the daemon: requests, and its problems as errors.
import { apiRoot } from './place.js';
import { locked, tenant, token } from './session.js';
import { value } from './value.js';

/** When the daemon last answered, and since when it does not: {at, lost}. */
export const contact = value({ at: Date.now(), lost: null });

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code ?? null;
    this.title = body.title ?? null;
    this.detail = body.detail ?? null;
    this.hint = body.hint ?? null;
    this.pointer = body.pointer ?? null;
    this.body = body;
  }
}

const UNREACHED = { code: 'unreachable', title: null, detail: null };
const SIGN_IN = new Set(['token_missing', 'token_invalid', 'user_not_allowed']);

export function answered() {
  contact.set({ at: Date.now(), lost: null });
}

export function unanswered() {
  const { at, lost } = contact.get();
  contact.set({ at, lost: lost ?? Date.now() });
}

/** What all tenants share: these take no tenant. */
const OF_ALL = /^(?:$|tenants|tokens|audit|config|controller|nodes|resources|processors)/;

function address(path, query = {}) {
  const url = new URL(path, apiRoot);
  for (const [name, given] of Object.entries(query)) {
    if (given !== undefined && given !== null && given !== '') url.searchParams.set(name, given);
  }
  if (tenant.get() && !OF_ALL.test(path) && !url.searchParams.has('tenant')) url.searchParams.set('tenant', tenant.get());
  return url;
}

function headers(more = {}) {
  const mine = token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
  return { Accept: 'application/json', ...mine, ...more };
}

async function problemOf(response) {
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { title: text.slice(0, 200) || response.statusText };
  }
  const problem = new Problem(response.status, body);
  if (SIGN_IN.has(problem.code)) locked.set(problem);
  return problem;
}

/** Sends a request and gives the response; a refusal or a lost connection is thrown as Problem. */
export async function ask(method, path, { query, body, signal, accept, type, headers: more } = {}) {
  const sent = { method, signal, headers: headers({ ...(accept ? { Accept: accept } : {}), ...more }), cache: 'no-store', credentials: 'same-origin' };
  if (body !== undefined) {
    sent.headers['Content-Type'] = type ?? 'application/json';
    sent.body = typeof body === 'string' ? body : JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(address(path, query), sent);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    unanswered();
    throw new Problem(0, UNREACHED);
  }
  answered();
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function get(path, query, options = {}) {
  return (await ask('GET', path, { query, ...options })).json();
}

async function send(method, path, body, options = {}) {
  const response = await ask(method, path, { body, ...options });
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

export const post = (path, body = {}, options) => send('POST', path, body, options);
export const put = (path, body, options) => send('PUT', path, body, options);
export const patch = (path, body, options) => send('PATCH', path, body, options);
export const remove = (path, options) => send('DELETE', path, undefined, options);

/** A path of the API from names that may have any characters: at('queues', name, 'pause'). */
export const at = (...parts) => parts.map(encodeURIComponent).join('/');
