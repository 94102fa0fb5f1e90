// The table of pages: one row each, in the order of the navigation. See README.md.
//
//   id     the page's word: texts `page.<id>`, icon of that name unless `icon` says another
//   path   below /ui/; `:name` parts become its parameters
//   group  where it stands in the navigation; without it the page is reached from others
//   api    a path of the API without which the page is left out
//   key    g + this letter goes there
//   under  for pages without a group: the page of the navigation that they belong to
//   tab    in the bar of phones

export const groups = ['watch', 'work', 'run', 'manage'];

export const pages = [
  { id: 'overview', path: '', group: 'watch', key: 'o', tab: true, load: () => import('./pages/overview.js') },
  { id: 'errors', path: 'errors', group: 'watch', key: 'e', api: 'errors', load: () => import('./pages/errors.js') },
  { id: 'alerts', path: 'alerts', group: 'watch', key: 'a', tab: true, load: () => import('./pages/alerts.js') },
  { id: 'jobs', path: 'jobs', group: 'work', key: 'j', tab: true, load: () => import('./pages/jobs.js') },
  { id: 'add', path: 'jobs/new', under: 'jobs', load: () => import('./pages/add.js') },
  { id: 'job', path: 'jobs/:id', under: 'jobs', load: () => import('./pages/job.js') },
  { id: 'queues', path: 'queues', group: 'work', key: 'q', tab: true, load: () => import('./pages/queues.js') },
  { id: 'queue', path: 'queues/:name', under: 'queues', load: () => import('./pages/queue.js') },
  { id: 'groups', path: 'groups', group: 'work', key: 'g', load: () => import('./pages/groups.js') },
  { id: 'group', path: 'groups/:name', under: 'groups', load: () => import('./pages/groups.js') },
  { id: 'schedules', path: 'schedules', group: 'work', key: 's', load: () => import('./pages/schedules.js') },
  { id: 'processors', path: 'processors', group: 'work', key: 'p', load: () => import('./pages/processors.js') },
  { id: 'handlers', path: 'handlers', group: 'run', key: 'h', load: () => import('./pages/handlers.js') },
  { id: 'handler', path: 'handlers/:type', under: 'handlers', load: () => import('./pages/handler.js') },
  { id: 'handler', path: 'handlers/:type/:what', under: 'handlers', load: () => import('./pages/handler.js') },
  { id: 'nodes', path: 'nodes', group: 'run', key: 'n', load: () => import('./pages/nodes.js') },
  { id: 'resources', path: 'resources', group: 'run', load: () => import('./pages/resources.js') },
  { id: 'settings', path: 'settings', group: 'manage', load: () => import('./pages/settings.js') },
  { id: 'tokens', path: 'tokens', group: 'manage', load: () => import('./pages/tokens.js') },
  { id: 'audit', path: 'audit', group: 'manage', load: () => import('./pages/audit.js') },
];

const patterns = pages.map((page) => ({ page, parts: page.path.split('/') }));

/** The page of a path and its parameters; null if there is none. */
export function pageOf(path) {
  const given = path.replace(/\/$/, '').split('/').map(decodeURIComponent);
  for (const { page, parts } of patterns) {
    if (parts.length !== given.length) continue;
    const params = {};
    const fits = parts.every((part, i) => {
      if (!part.startsWith(':')) return part === given[i];
      params[part.slice(1)] = given[i];
      return given[i] !== '';
    });
    if (fits) return { page, params };
  }
  return null;
}
