// The files of the dashboard as a browser gets them: those of this folder, and those of the
// packages that vendor.json names. Names of packages in their imports become paths, because
// nothing bundles them and the content policy allows no import map.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, extname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

export const types = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml',
};

const OWN = ['index.html', 'app.js', 'pages.js', 'icon.svg'];
const FOLDERS = ['lib', 'ui', 'charts', 'pages', 'texts', 'style'];

const vendor = JSON.parse(readFileSync(join(root, 'vendor.json'), 'utf8'));
const byName = Object.fromEntries(Object.entries(vendor).map(([path, { name }]) => [name, path]));

/** Whether the packages are installed. */
export const installed = () => Object.values(vendor).every(({ from }) => existsSync(join(root, 'node_modules', from)));

function walk(folder) {
  return readdirSync(join(root, folder)).sort().flatMap((name) => {
    const path = posix.join(folder, name);
    return statSync(join(root, path)).isDirectory() ? walk(path) : (extname(name) in types ? [path] : []);
  });
}

/** Every path that is served, below /ui/. */
export const paths = () => [...OWN, ...FOLDERS.flatMap(walk), ...Object.keys(vendor)];

/** Where the bytes of a path come from. */
export const source = (path) => join(root, path in vendor ? join('node_modules', vendor[path].from) : path);

function relinked(path, text) {
  const here = posix.dirname(path);
  return text.replace(/\bfrom\s*(["'])([^"'.][^"']*)\1/g, (whole, quote, name) =>
    (name in byName ? `from${quote}./${posix.relative(here, byName[name])}${quote}` : whole))
    .replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n');
}

/** What the app needs before it can draw anything, so that the browser asks for it at once. */
function graph() {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    const text = relinked(path, readFileSync(source(path), 'utf8'));
    for (const [, name] of text.matchAll(/(?:^|[\s;}])(?:import|export)\b[^;'"(]*?["'](\.[^"']+\.js)["']/g)) {
      visit(posix.join(posix.dirname(path), name));
    }
  };
  visit('app.js');
  return [...seen];
}

/** The page itself, for paths of a depth: 0 for /ui/jobs, 1 for /ui/jobs/ID. */
export function page(depth) {
  const text = readFileSync(join(root, 'index.html'), 'utf8');
  const preload = graph().map((path) => `  <link rel="modulepreload" href="${path}">\n`).join('');
  return text.replace('<base href="./">', `<base href="${'../'.repeat(depth) || './'}">`).replace('</head>', `${preload}</head>`);
}

/** The bytes of a path. */
export function content(path) {
  const bytes = readFileSync(source(path));
  return path in vendor ? Buffer.from(relinked(path, bytes.toString('utf8'))) : bytes;
}

export const relativeToRoot = (path) => relative(root, path);
