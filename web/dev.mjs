// A server for work on the dashboard: serves this folder at /ui/ as it is now, and passes
// everything else on to a daemon. Reload the page to see a change.
//
//   node web/dev.mjs [DAEMON] [PORT]      default http://127.0.0.1:7420 and 7421
import { createServer, request } from 'node:http';
import { extname } from 'node:path';
import { content, page, paths, types } from './tools/files.mjs';

const daemon = new URL(process.argv[2] ?? 'http://127.0.0.1:7420');
const port = Number(process.argv[3] ?? 7421);

function serve(response, type, bytes) {
  response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' });
  response.end(bytes);
}

function pass(incoming, response) {
  const headers = { ...incoming.headers, host: daemon.host };
  delete headers.origin;
  const sent = request({ host: daemon.hostname, port: daemon.port, method: incoming.method, path: incoming.url, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  sent.on('error', () => response.destroy());
  response.on('close', () => sent.destroy());
  incoming.pipe(sent);
}

createServer((incoming, response) => {
  const { pathname } = new URL(incoming.url, 'http://localhost');
  if (!pathname.startsWith('/ui/')) return pass(incoming, response);
  const path = pathname.slice(4);
  if (paths().includes(path)) return serve(response, types[extname(path)], content(path));
  return serve(response, types['.html'], page(path.split('/').length - 1));
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/ui/`));
