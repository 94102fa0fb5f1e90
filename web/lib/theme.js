// Light, dark, high contrast, or what the system wishes.
import { value } from './value.js';

export const themes = ['auto', 'light', 'dark', 'contrast'];

function stored() {
  try {
    return localStorage.getItem('pawl.theme') ?? 'auto';
  } catch {
    return 'auto';
  }
}

export const theme = value(stored());

export function setTheme(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    if (name === 'auto') localStorage.removeItem('pawl.theme');
    else localStorage.setItem('pawl.theme', name);
  } catch { /* the choice holds until the tab closes */ }
  theme.set(name);
}

export function nextTheme() {
  setTheme(themes[(themes.indexOf(theme.get()) + 1) % themes.length]);
}

/** The present colours of a list of token names, for what is drawn on a canvas. */
export function colours(...names) {
  const style = getComputedStyle(document.documentElement);
  return names.map((name) => style.getPropertyValue(`--${name}`).trim());
}
