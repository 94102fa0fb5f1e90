// Numbers, times and durations as people read them. All are texts; nothing here draws.
import { language, t } from './text.js';

const MINUTE = 60, HOUR = 3600, DAY = 86400;

export function whole(n) {
  return n === null || n === undefined ? '–' : Number(n).toLocaleString(language.get()).replace('-', '−');
}

/** Three figures at most: 10.8, 142, 12.4k. */
export function short(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return '–';
  const sign = n < 0 ? '−' : '';
  const size = Math.abs(n);
  const figures = (x) => x.toLocaleString(language.get(), { maximumFractionDigits: x < 10 ? (x < 1 ? 2 : 1) : (x < 100 ? 1 : 0) });
  if (size < 1000) return sign + figures(size);
  if (size < 1e6) return `${sign}${figures(size / 1e3)}k`;
  return `${sign}${figures(size / 1e6)}M`;
}

export function rate(n) {
  if (n === null || n === undefined) return '–';
  return n.toLocaleString(language.get(), { minimumFractionDigits: 1, maximumFractionDigits: n < 1 ? 2 : 1 });
}

export function bytes(n) {
  if (n === null || n === undefined) return '–';
  if (n < 1024) return `${n} B`;
  const step = Math.min(4, Math.floor(Math.log2(n) / 10));
  return `${(n / 1024 ** step).toLocaleString(language.get(), { maximumFractionDigits: 1 })} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][step]}`;
}

/** A length of time in seconds: 0.3 s, 41 s, 6 min 12 s, 3 h 5 min, 2 d. */
export function span(seconds, { short: brief = false } = {}) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  const s = Math.max(0, seconds);
  if (s < 10) return `${s.toLocaleString(language.get(), { maximumFractionDigits: s < 1 ? 2 : 1 })} s`;
  if (s < MINUTE) return `${Math.round(s)} s`;
  const two = (big, bigWord, small, smallWord) => (brief || !small ? `${big} ${bigWord}` : `${big} ${bigWord} ${small} ${smallWord}`);
  if (s < HOUR) return two(Math.floor(s / MINUTE), 'min', Math.floor(s % MINUTE), 's');
  if (s < DAY) return two(Math.floor(s / HOUR), 'h', Math.floor((s % HOUR) / MINUTE), 'min');
  return two(Math.floor(s / DAY), 'd', Math.floor((s % DAY) / HOUR), 'h');
}

const ISO_DURATION = /^P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

/** Seconds of an ISO 8601 duration such as PT1H30M; null if it is none. */
export function secondsOf(duration) {
  const found = ISO_DURATION.exec(duration ?? '');
  if (!found) return null;
  const [d, h, m, s] = found.slice(1).map((x) => Number(x ?? 0));
  return d * DAY + h * HOUR + m * MINUTE + s;
}

export const durationWords = (duration) => (duration === null || duration === undefined ? '–' : span(secondsOf(duration)));

export const secondsSince = (when) => (when ? (Date.now() - Date.parse(when)) / 1000 : null);
export const secondsUntil = (when) => (when ? (Date.parse(when) - Date.now()) / 1000 : null);
export const secondsBetween = (from, to) => (from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null);

export function clock(when, { seconds = false } = {}) {
  if (!when) return '–';
  const at = new Date(when);
  return at.toLocaleTimeString(language.get(), { hour: '2-digit', minute: '2-digit', second: seconds ? '2-digit' : undefined, hourCycle: 'h23' });
}

/** 14:03 today, Fri 13 Nov earlier or later. */
export function when(at, options) {
  if (!at) return '–';
  const date = new Date(at);
  if (Math.abs(date - Date.now()) > 1000 * DAY * 500) return t('time.never');
  if (date.toDateString() === new Date().toDateString()) return clock(at, options);
  const day = date.toLocaleDateString(language.get(), { weekday: 'short', day: 'numeric', month: 'short' });
  return `${day}, ${clock(at)}`;
}

export const exact = (at) => (at ? new Date(at).toISOString() : undefined);
export const ago = (at) => (at ? t('time.ago', { span: span(secondsSince(at), { short: true }) }) : '–');
export const until = (at) => (at ? t('time.in', { span: span(secondsUntil(at), { short: true }) }) : '–');
export const percent = (part, of) => (of ? `${(100 * part / of).toLocaleString(language.get(), { maximumFractionDigits: 1 })} %` : '–');

/** "1 job", "37 jobs": the word is a key of the table of texts with n. */
export const counted = (n, word, more = false) => t(`count.${word}`, { n, text: whole(n) + (more ? '+' : '') });
