// Keyboard: single keys outside of inputs, and two in a row after g. Pages add theirs.
import { useEffect, useRef } from './view.js';
import { remembered } from './remember.js';

const maps = [];
let after = null;

const typing = (target) => target.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable]');

function pressed(event) {
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target) || document.querySelector('dialog[open]')) return;
  if (remembered('keys', true) === false) return;
  const key = after === 'g' ? `g ${event.key}` : event.key;
  after = event.key === 'g' && after !== 'g' ? 'g' : null;
  for (let i = maps.length - 1; i >= 0; i--) {
    const act = maps[i].current[key];
    if (!act) continue;
    event.preventDefault();
    after = null;
    act(event);
    return;
  }
}

addEventListener('keydown', pressed);

/** Keys that work while the component is there: {j: next, '?': help}. */
export function useKeys(map) {
  const ref = useRef(map);
  ref.current = map;
  useEffect(() => {
    maps.push(ref);
    return () => { maps.splice(maps.indexOf(ref), 1); };
  }, []);
}
