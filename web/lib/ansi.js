// A line of a log: the eight colours and bold of ANSI become parts with a class, all other
// escapes are dropped.
const ESCAPE = /\u001b(?:\[([0-9;?]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;

function styled(codes, old) {
  let { colour, bold } = old;
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) { colour = null; bold = false; }
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code >= 30 && code <= 37) colour = code - 30;
    else if (code >= 90 && code <= 97) colour = code - 90;
    else if (code === 39) colour = null;
  }
  return { colour, bold };
}

/** [{text, className}] of one line. */
export function ansi(line) {
  if (!line.includes('\u001b')) return [{ text: line, className: '' }];
  const all = [];
  let style = { colour: null, bold: false }, from = 0;
  const push = (text) => {
    if (!text) return;
    const names = [style.colour === null ? '' : `an-${style.colour}`, style.bold ? 'an-b' : ''];
    all.push({ text, className: names.filter(Boolean).join(' ') });
  };
  for (const found of line.matchAll(ESCAPE)) {
    push(line.slice(from, found.index));
    if (found[2] === 'm') style = styled(found[1] ?? '', style);
    from = found.index + found[0].length;
  }
  push(line.slice(from));
  return all;
}
