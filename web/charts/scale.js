// Round numbers and times for axes, and paths through points.

/** About `want` round steps from 0 to at least `top`. */
export function ticks(top, want = 4) {
  if (!(top > 0)) return [0, 1];
  const raw = top / want;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((x) => x * power).find((x) => x >= raw);
  const all = [];
  for (let i = 0; all.length === 0 || all[all.length - 1] < top - step * 1e-9; i++) all.push(i * step);
  return all;
}

const STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** Five to seven whole times between two, in seconds, in the reader's zone. */
export function timeTicks(from, to, want = 6) {
  const step = STEPS.find((one) => (to - from) / one <= want) ?? STEPS[STEPS.length - 1];
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  const all = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) all.push(at);
  return { step, all };
}

/** A path through the points, broken where a value is null. */
export function line(values, x, y) {
  let path = '', pen = false;
  values.forEach((value, i) => {
    if (value === null || value === undefined) { pen = false; return; }
    path += `${pen ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  });
  return path;
}
