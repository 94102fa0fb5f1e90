// Names of what the pages have in common about queues: drain estimate and verdict.

/** Seconds until nothing waits at the present rates; Infinity if never, 0 if nothing waits. */
export function drains(ready, inRate, outRate) {
  if (!ready) return 0;
  return outRate > inRate ? ready / (outRate - inRate) : Infinity;
}
