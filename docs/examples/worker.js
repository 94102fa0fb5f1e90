// A pull worker: node worker.js [http://127.0.0.1:7420]. Does jobs of type `upper`.
const http = require('http');
const api = (process.argv[2] || 'http://127.0.0.1:7420') + '/api/v1/claims';

const post = (path, body) => new Promise((resolve, reject) => {
  const request = http.request(api + path, {method: 'POST'}, (answer) => {
    let text = '';
    answer.on('data', (part) => text += part);
    answer.on('end', () => resolve(answer.statusCode === 200 ? JSON.parse(text) : {}));
  });
  request.on('error', reject);
  request.end(JSON.stringify(body));
});

const work = async (job) => job.payload.trim().toUpperCase();

(async () => {
  const claim = {types: ['upper'], wait: 'PT30S', lease: 'PT30S', worker: 'example.js'};
  for (;;) {
    for (const job of (await post('', claim)).jobs || []) {
      const item = {id: job.id, attempt: job.attempt, token: job.token};
      const timer = setInterval(() => post('/renew', {items: [item]}), 10000);
      const end = await work(job).then((result) => ({exitcode: 200, result}),
        (error) => ({exitcode: 500, error: String(error)})); // tried again later
      clearInterval(timer);
      await post('/finish', {items: [{...item, ...end}]});
    }
  }
})();
