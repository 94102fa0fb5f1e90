// A value that many parts of the page look at, and a hook that draws them again when it changes.
import { useEffect, useState } from './view.js';

export function value(initial) {
  let now = initial;
  const listeners = new Set();
  return {
    get: () => now,
    set(next) {
      if (Object.is(next, now)) return;
      now = next;
      for (const listener of [...listeners]) listener(now);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useValue(v) {
  const [now, set] = useState(v.get());
  useEffect(() => {
    set(v.get());
    return v.listen(set);
  }, [v]);
  return now;
}
