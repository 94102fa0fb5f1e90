// Characters that cannot be seen, made visible: control characters, marks of direction, and
// those without width. A text of a job must not be able to look like something it is not.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export const hasHidden = (text) => text.search(HIDDEN) >= 0;

/** A text cut into parts: strings as they are, and {code: 'U+202E'} for what cannot be seen. */
export function parts(text) {
  const all = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) all.push(text.slice(from, found.index));
    all.push({ code: `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}` });
    from = found.index + found[0].length;
  }
  if (from < text.length) all.push(text.slice(from));
  return all;
}

/** The same as one text, for attributes: U+202E in place of the mark. */
export const plain = (text) => parts(String(text)).map((part) => part.code ?? part).join('');
