// Query text: putting terms together, taking one out, and the words of the language.

export const states = ['ready', 'running', 'retrying', 'deferred', 'blocked', 'held', 'paused', 'halted', 'done', 'failed', 'rejected', 'cancelled'];
export const finalStates = ['done', 'failed', 'rejected', 'cancelled'];

export const fields = ['state', 'type', 'queue', 'tag', 'name', 'priority', 'created', 'run', 'error', 'payload', 'node', 'group', 'schedule', 'parent', 'id'];

const SIMPLE = /^[A-Za-z0-9_.:+\/;$*<>=-]+$/;

/** One term, its value in quotes where it must be. */
export const term = (field, value) => `${field}:${SIMPLE.test(value) ? value : JSON.stringify(String(value))}`;

const TERM = /-?[a-z_.]+:(?:"(?:[^"\\]|\\.)*"|[^\s"])*|\S+/g;

/** The terms of a query as texts. */
export const terms = (q) => q.match(TERM) ?? [];

/** What a field is asked to be; null if the query does not say. */
export function valueOf(q, field) {
  const found = terms(q).find((one) => one.startsWith(`${field}:`));
  return found ? found.slice(field.length + 1) : null;
}

/** The query with another value of a field; null takes it out. */
export function withTerm(q, field, value) {
  const rest = terms(q).filter((one) => !one.startsWith(`${field}:`));
  if (value !== null) rest.unshift(`${field}:${value}`);
  return rest.join(' ');
}

const isoMinute = (seconds) => new Date(seconds * 1000).toISOString().replace(/\.000Z$/, 'Z');

/** Jobs that were created between two times (seconds). */
export const createdBetween = (from, to) => `created:>=${isoMinute(from)} created:<${isoMinute(to)}`;
