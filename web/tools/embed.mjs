// Writes the files of the dashboard as a C table, compressed and with their tags:
//
//   node web/tools/embed.mjs OUT.c OUT.d
//
// Without the packages the table is empty and the daemon explains it at /ui/. OUT.d lists
// what the table was made of, so that the build knows when to make it again.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { content, installed, page, paths, root, source, types } from './files.mjs';

const DEPTHS = 4;
const [out, dependencies] = process.argv.slice(2);

function files() {
  const pages = Array.from({ length: DEPTHS }, (_, depth) => ({ path: `index.${depth}.html`, type: types['.html'], bytes: Buffer.from(page(depth)) }));
  const rest = paths().filter((path) => path !== 'index.html').map((path) => ({ path, type: types[extname(path)], bytes: content(path) }));
  return [...pages, ...rest].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function array(name, bytes) {
  const lines = [];
  for (let i = 0; i < bytes.length; i += 32) lines.push([...bytes.subarray(i, i + 32)].join(','));
  return `static const unsigned char ${name}[] = {\n${lines.join(',\n')}};\n`;
}

function table(list) {
  let text = '/* Made by web/tools/embed.mjs. */\n#include "api/ui.h"\n\n';
  const rows = list.map(({ path, type, bytes }, i) => {
    const packed = gzipSync(bytes, { level: 9 });
    const tag = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    text += array(`f${i}`, packed) + array(`p${i}`, bytes);
    return `    {"${path}", "${type}", "W/\\"${tag}\\"", f${i}, sizeof f${i}, p${i}, sizeof p${i}},\n`;
  });
  text += `\nconst Asset ASSETS[] = {\n${rows.join('')}    {0},\n};\nconst size_t ASSET_COUNT = ${list.length};\n`;
  return text;
}

function writeIfChanged(path, text) {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}

const there = installed();
if (!there) console.error('web: the packages are not installed (npm ci --prefix web): building without the dashboard');
writeIfChanged(out, table(there ? files() : []));
const used = [...paths().map(source), ...paths().map((path) => dirname(source(path))), join(root, 'vendor.json'), join(root, 'package-lock.json')];
writeFileSync(dependencies, `${out}: ${[...new Set(used)].filter((path) => existsSync(path) && statSync(path)).join(' ')}\n`);
