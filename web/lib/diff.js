// The difference between two texts, line by line: [{kind: 'same' | 'less' | 'more', text}].

export function lineDiff(before, after) {
  const a = before.split('\n'), b = after.split('\n');
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let k = b.length - 1; k >= 0; k--) common[i][k] = a[i] === b[k] ? common[i + 1][k + 1] + 1 : Math.max(common[i + 1][k], common[i][k + 1]);
  }
  const lines = [];
  let i = 0, k = 0;
  while (i < a.length || k < b.length) {
    if (i < a.length && k < b.length && a[i] === b[k]) lines.push({ kind: 'same', text: a[i++], other: k++ });
    else if (k >= b.length || (i < a.length && common[i + 1][k] >= common[i][k + 1])) lines.push({ kind: 'less', text: a[i++] });
    else lines.push({ kind: 'more', text: b[k++] });
  }
  return lines;
}
