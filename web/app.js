// Starts the dashboard.
import { get } from './lib/api.js';
import { startLive } from './lib/live.js';
import { followLinks } from './lib/place.js';
import { askOthers, identity, tenant, token } from './lib/session.js';
import { startLanguage } from './lib/text.js';
import { html, render } from './lib/view.js';
import { App } from './ui/frame.js';

/** What this reader may do, and which parts of the API there are. */
async function meet() {
  try {
    const [index, me] = await Promise.all([get(''), get('me')]);
    identity.set({ ...me, paths: index.paths, version: index.version });
  } catch { /* the frame says what is wrong: sign in, or the daemon is away */ }
}

followLinks();
await Promise.all([startLanguage(), askOthers()]);
render(html`<${App} />`, document.getElementById('app'));
token.listen(meet);
tenant.listen(meet);
await meet();
startLive();
