// Live: one stream of events for all tabs of this browser, and a beat that pages follow.
//
// The tab that holds a lock reads the stream and tells the others. Pages are not fed by the
// stream: an event only says that something has changed, and a page asks again at the next
// beat, at most once a second. So a burst of 100,000 events costs a page nothing and keeps
// no memory. While no stream can be had, the leader asks for what happened every two seconds.
// Nothing runs while the tab is hidden or the reader has paused it.
import { answered, ask, unanswered } from './api.js';
import { uiRoot } from './place.js';
import { tenant, token } from './session.js';
import { value } from './value.js';

const BEAT_MS = 1000, POLL_MS = 2000, FIRST_LINE_MS = 10000;
const RETRY_MS = [1000, 2000, 4000, 8000];

/** Counts beats; pages that follow ask again when it changes. */
export const beat = value(0);

/** Of the last change that was heard of, its time; pages compare it with their last answer. */
export const changed = value(0);

/** The reader has paused everything. */
export const paused = value(false);

const watchers = new Set();
const channel = 'BroadcastChannel' in window ? new BroadcastChannel(`pawl live ${uiRoot.pathname}`) : null;

/** Hears the events of jobs, one by one: {id, type, queue, state, was, ...}. */
export function watch(listener) {
  watchers.add(listener);
  return () => watchers.delete(listener);
}

function heard(event) {
  changed.set(performance.now());
  for (const watcher of watchers) watcher(event);
}

channel?.addEventListener('message', ({ data }) => {
  if (data.tenant === tenant.get()) heard(data.event);
});

function tell(event) {
  heard(event);
  channel?.postMessage({ tenant: tenant.get(), event });
}

/** Cuts a stream of server-sent events into its messages; keeps the rest for the next bytes. */
export function sseReader(onMessage) {
  let rest = '';
  return (text) => {
    rest += text;
    let end;
    while ((end = rest.indexOf('\n\n')) >= 0) {
      const message = { data: '' };
      for (const line of rest.slice(0, end).split('\n')) {
        const colon = line.indexOf(':');
        if (colon > 0) message[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
      }
      rest = rest.slice(end + 2);
      onMessage(message);
    }
  };
}

let lastId = null;

function onMessage(message) {
  if (message.id) lastId = message.id;
  if (message.event === 'reset') lastId = null;
  if (!message.data) return;
  try {
    tell(JSON.parse(message.data).data ?? {});
  } catch { /* a datum that is no JSON says only that something happened */
    tell({});
  }
}

const resumed = () => (lastId ? { 'Last-Event-ID': lastId } : {});

/** A proxy that keeps the stream back shows by its silence: the first line comes at once. */
let streams = true;

async function stream(signal) {
  const silent = new AbortController();
  const timer = setTimeout(() => { streams = false; silent.abort(); }, FIRST_LINE_MS);
  const either = AbortSignal.any ? AbortSignal.any([signal, silent.signal]) : signal;
  try {
    const response = await ask('GET', 'events', { signal: either, accept: 'text/event-stream', headers: resumed() });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const take = sseReader(onMessage);
    for (;;) {
      const { done, value: text } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      answered();
      take(text);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Without a stream: what happened since the last answer, asked for again and again. */
async function poll(signal) {
  while (!signal.aborted) {
    const query = { follow: 0 };
    const response = await ask('GET', 'events', { signal, query, accept: 'text/event-stream', headers: resumed() });
    sseReader(onMessage)(await response.text());
    await pause(POLL_MS, signal);
  }
}

const active = () => !document.hidden && !paused.get();

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

/** Reads the stream as long as this tab leads; after a break it resumes where it was. */
async function lead(signal) {
  for (let failures = 0; !signal.aborted; ) {
    const began = Date.now();
    try {
      await (streams ? stream(signal) : poll(signal));
    } catch (problem) {
      if (signal.aborted) return;
      if (problem.status === 0) unanswered();
      if (problem.status === 401 || problem.status === 403) return;
    }
    failures = Date.now() - began > 5000 ? 0 : failures + 1;
    changed.set(performance.now());
    await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)], signal);
  }
}

let leading = null;

function restart() {
  leading?.abort();
  leading = null;
  if (!active()) return;
  const stop = leading = new AbortController();
  if (!navigator.locks) {
    lead(stop.signal);
    return;
  }
  const name = `pawl live ${uiRoot.pathname} ${tenant.get() ?? ''} ${token.get() ? 'token' : ''}`;
  navigator.locks.request(name, { signal: stop.signal }, () => lead(stop.signal)).catch(() => {});
}

export function startLive() {
  setInterval(() => { if (active()) beat.set(beat.get() + 1); }, BEAT_MS);
  document.addEventListener('visibilitychange', () => {
    restart();
    if (active()) { changed.set(performance.now()); beat.set(beat.get() + 1); }
  });
  for (const one of [paused, tenant, token]) one.listen(() => { lastId = null; restart(); });
  restart();
}
