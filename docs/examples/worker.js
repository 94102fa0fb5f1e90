// A pull worker: node worker.js [URL]. Does jobs of type `upper` until SIGTERM.

const upper = async (job) => {
  job.progress(50, 'half of it');
  return job.payload.trim().toUpperCase(); // what it throws is an error: tried again later
};

(async () => {
  // 'pawl' if you installed the client (npm install clients/node).
  const { Client, Worker } = await import('../../clients/node/pawl.mjs');
  const client = new Client(process.argv[2] || 'http://127.0.0.1:7420');
  await new Worker(client, { upper }, 2, { name: 'example.js' }).run();
})();
