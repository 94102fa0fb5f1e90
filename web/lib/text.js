// Words. Every text stands in one table per language (texts/en.js is the complete one), by a key.
import en from '../texts/en.js';
import { remember, remembered } from './remember.js';
import { value } from './value.js';

export const languages = { en: 'English', de: 'Deutsch' };
const loaders = { en: async () => en, de: async () => (await import('../texts/de.js')).default };

function wished() {
  const chosen = remembered('language', null);
  if (chosen in languages) return chosen;
  const liked = (navigator.languages ?? []).map((l) => l.slice(0, 2)).find((l) => l in languages);
  return liked ?? 'en';
}

let table = en;
export const language = value('en');

export async function setLanguage(name, { keep = true } = {}) {
  table = await loaders[name]();
  document.documentElement.lang = name;
  if (keep) remember('language', name);
  language.set(name);
}

export const startLanguage = () => setLanguage(wished(), { keep: false });

/** The text of a key; {name} in it stands for what is given. */
export function t(key, given = {}) {
  const text = table[key] ?? en[key] ?? key;
  const one = typeof text === 'function' ? text(given) : text;
  return one.replace(/\{(\w+)\}/g, (whole, name) => given[name] ?? whole);
}
