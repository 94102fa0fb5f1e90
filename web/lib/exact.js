// JSON whose numbers stay as they were written: 9007199254740993 is not 9007199254740992.
// Objects become lists of pairs, so that order and repeated keys stay too.

export class Exact {
  constructor(text) { this.text = text; }
}

export class Pairs {
  constructor(pairs) { this.pairs = pairs; }
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const WORDS = { true: true, false: false, null: null };

/** Reads a JSON text; throws SyntaxError if it is none. */
export function parseExact(text) {
  JSON.parse(text);
  let at = 0;
  const blank = () => { while (/\s/.test(text[at])) at++; };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text);
    at = pattern.lastIndex;
    return found;
  };
  const list = (end, one) => {
    const all = [];
    at++;
    for (blank(); text[at] !== end; blank()) {
      all.push(one());
      blank();
      if (text[at] === ',') { at++; blank(); }
    }
    at++;
    return all;
  };
  const pair = () => {
    const key = JSON.parse(match(STRING));
    blank();
    at++;
    return [key, read()];
  };
  function read() {
    blank();
    if (text[at] === '{') return new Pairs(list('}', pair));
    if (text[at] === '[') return list(']', read);
    if (text[at] === '"') return JSON.parse(match(STRING));
    for (const [word, meant] of Object.entries(WORDS)) {
      if (text.startsWith(word, at)) { at += word.length; return meant; }
    }
    return new Exact(match(NUMBER));
  }
  return read();
}

/** The text of one field of a JSON object, exactly as it was sent; null if it has none. */
export function rawField(text, name) {
  const from = text.indexOf(`"${name}":`);
  if (from < 0) return null;
  const start = from + name.length + 3;
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      STRING.lastIndex = i;
      STRING.exec(text);
      i = STRING.lastIndex - 1;
    } else if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') depth--;
    if (depth < 0 || (depth === 0 && text[i + 1] === ',')) return text.slice(start, depth < 0 ? i : i + 1);
  }
  return text.slice(start);
}
