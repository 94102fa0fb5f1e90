// An Express application that lets workers do the slow part.
//   node express.mjs [PORT] [URL]; the worker is worker.js beside it.
// POST /upper {"text": …} answers 202 at once; GET /upper/ID tells how far it is.
import express from 'express';
import { Client, PawlError } from 'pawl';

const client = new Client(process.argv[3] || 'http://127.0.0.1:7420');
const app = express();
app.use(express.json());

app.post('/upper', async (request, response, next) => {
  try {
    // A browser that sends the same form twice adds one job, if it sends the same key.
    const id = await client.add('upper', request.body.text,
      { idempotencyKey: request.get('Idempotency-Key') });
    response.status(202).location(`/upper/${id}`).json({ id });
  } catch (why) { next(why); }
});

app.get('/upper/:id', async (request, response, next) => {
  try {
    const { state, progress, error } = await client.get(request.params.id);
    response.json({ state, progress, error,
      result: state === 'done' ? await client.result(request.params.id) : null });
  } catch (why) { next(why); }
});

app.use((why, request, response, next) => {
  if (!(why instanceof PawlError)) return next(why);
  return response.status(why.status || 503).json({ code: why.code, detail: why.detail });
});

const server = app.listen(Number(process.argv[2] || 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
process.once('SIGTERM', () => server.close(() => client.close()));
