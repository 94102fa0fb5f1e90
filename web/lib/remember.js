// Small choices of the reader (theme, language, columns), kept in this browser. Never a token.
export function remembered(name, otherwise) {
  try {
    const text = localStorage.getItem(`pawl.${name}`);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function remember(name, what) {
  try {
    localStorage.setItem(`pawl.${name}`, JSON.stringify(what));
  } catch { /* full or switched off: the choice holds until the tab closes */ }
}
