// Curves of the past as the API gives them, with times and rates.
import { secondsOf } from './format.js';

/** Times (seconds) of the points, and how a count of a step becomes a rate per second. */
export function axis(series) {
  const step = secondsOf(series.step);
  const from = Date.parse(series.from) / 1000;
  const to = Date.parse(series.to) / 1000;
  const length = series.items[0]?.points.length ?? Math.ceil((to - from) / step);
  const times = Array.from({ length }, (_, i) => from + i * step);
  const lasted = (i) => Math.max(1, Math.min(step, to - times[i]));
  return { times, step, to, perSecond: (count, i) => (count ?? 0) / lasted(i) };
}

/** The points of a metric (and key), zeros if there are none. */
export function points(series, metric, key) {
  const found = series.items.find((one) => one.metric === metric && (key === undefined || one.key === key));
  const length = found?.points.length ?? series.items[0]?.points.length ?? 0;
  return found?.points ?? Array.from({ length }, () => 0);
}

const sum = (list) => list.reduce((a, b) => a + b, 0);

/**
 * How many jobs ended in each step. Series know those that ended well or by their own word; the
 * others (rejected, cancelled) are what is missing, spread over the attempts that went wrong.
 */
export function departures(flow, unfinished) {
  const added = points(flow, 'added'), ok = points(flow, 'ok'), failed = points(flow, 'failed');
  const wrong = points(flow, 'retry').map((n, i) => n + points(flow, 'error')[i]);
  const missing = Math.max(0, sum(added) - sum(ok) - sum(failed) - unfinished);
  const share = sum(wrong) > 0 ? missing / sum(wrong) : 0;
  return ok.map((n, i) => n + failed[i] + share * wrong[i]);
}

/** The mean rate per second over about the last seconds that are asked for. */
export function lately(series, metric, seconds = 300, key) {
  const { times, to } = axis(series);
  const first = Math.max(0, times.findIndex((at) => at >= to - seconds - 1));
  const counted = points(series, metric, key).slice(first).reduce((sum, n) => sum + (n ?? 0), 0);
  return times.length ? counted / Math.max(1, to - times[first]) : 0;
}

export const ranges = ['5m', '1h', '6h', '24h', '7d', '30d'];
