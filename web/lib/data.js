// Data of a page: asked for once, then again when something has changed.
import { get } from './api.js';
import { beat, changed, paused } from './live.js';
import { tenant, token } from './session.js';
import { useCallback, useEffect, useRef, useState } from './view.js';

const NOTHING = { data: undefined, error: null, at: 0 };

/**
 * Asks for a path and keeps the answer: {data, error, at, reload}. path null: not now.
 *   every     seconds between answers while things happen (2)
 *   rest      seconds after which it asks again although nothing happened (15)
 *   live      whether it asks again at all (true)
 *   read      how it asks, if not by GET for JSON
 * At most one request is under way; what is shown stays while a new answer is awaited.
 */
export function useApi(path, query = {}, { every = 2, rest = 15, live = true, read = get } = {}) {
  const [state, setState] = useState(NOTHING);
  const own = useRef({ running: null, asked: 0 });
  const key = path === null ? null : JSON.stringify([path, query, tenant.get(), token.get() ? 1 : 0]);

  const load = useCallback(async () => {
    const mine = own.current;
    mine.running?.abort();
    const running = mine.running = new AbortController();
    mine.asked = performance.now();
    try {
      const data = await read(path, query, { signal: running.signal });
      if (mine.running === running) setState({ data, error: null, at: Date.now(), key, path });
    } catch (error) {
      if (error.name === 'AbortError' || mine.running !== running) return;
      setState((old) => ({ ...old, data: old.path === path ? old.data : undefined, error, key, path }));
    } finally {
      if (mine.running === running) mine.running = null;
    }
  }, [key]);

  useEffect(() => {
    if (key === null) return undefined;
    load();
    return () => own.current.running?.abort();
  }, [key]);

  useEffect(() => {
    if (key === null || !live) return undefined;
    return beat.listen(() => {
      const mine = own.current;
      if (mine.running || paused.get()) return;
      const waited = performance.now() - mine.asked;
      const due = changed.get() > mine.asked ? every * 1000 : rest * 1000;
      if (waited >= due - 50) load();
    });
  }, [key, live, every, rest]);

  const fresh = state.key === key;
  const data = fresh || state.path === path ? state.data : undefined;
  return { data, error: fresh ? state.error : null, at: state.at, fresh, reload: load };
}

/** Whether something has been true for so long: for what shows only after a while. */
export function useAfter(ms, so) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!so) return undefined;
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [so, ms]);
  return so && late;
}
