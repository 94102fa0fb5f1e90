// Every language has the same keys, and every key that the pages use is there.
import { readFileSync, readdirSync } from 'node:fs';

const root = new URL('../../web/', import.meta.url);
const tables = Object.fromEntries(await Promise.all(readdirSync(new URL('texts/', root)).map(async (name) => [name, (await import(new URL(`texts/${name}`, root))).default])));
const all = new Set(Object.values(tables).flatMap((table) => Object.keys(table)));
const wrong = [];
for (const [name, table] of Object.entries(tables)) for (const key of all) if (!(key in table)) wrong.push(`${name} lacks ${key}`);
const files = ['lib', 'ui', 'pages', 'charts'].flatMap((folder) => readdirSync(new URL(`${folder}/`, root)).map((file) => `${folder}/${file}`));
for (const file of [...files, 'app.js', 'pages.js']) {
  const text = readFileSync(new URL(file, root), 'utf8');
  for (const [, key] of text.matchAll(/\bt\('([^']+)'/g)) if (!all.has(key)) wrong.push(`${file} uses ${key}`);
  for (const [, start] of text.matchAll(/\bt\(`([\w.]+\.)\$\{/g)) if (![...all].some((key) => key.startsWith(start))) wrong.push(`${file} uses ${start}*`);
  if (/\bstyle="|innerHTML|dangerouslySet|\beval\(/.test(text)) wrong.push(`${file} sets HTML or a style attribute`);
}
if (wrong.length) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
