// The one place that knows which library draws: all others import from here.
import { h, render, Fragment, Component } from '../vendor/preact.js';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/hooks.js';
import htm from '../vendor/htm.js';

export const html = htm.bind(h);
export { h, render, Fragment, Component };
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };

let lastId = 0;

/** An id that is unique on the page, the same at every drawing of a component. */
export function useUid(prefix = 'u') {
  return useMemo(() => `${prefix}${++lastId}`, []);
}
