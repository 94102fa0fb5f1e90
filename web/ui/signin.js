// Sign-in with a token, and how to get one.
import { get } from '../lib/api.js';
import { docsRoot } from '../lib/place.js';
import { locked, signIn, signOut } from '../lib/session.js';
import { t } from '../lib/text.js';
import { html, useState } from '../lib/view.js';
import { Field } from './form.js';
import { Logo } from './icon.js';
import { CodeBox } from './parts.js';

const COMMAND = 'pawl token create me --scopes read,operate';

export function SignIn({ problem }) {
  const [secret, setSecret] = useState('');
  const [error, setError] = useState(problem.code === 'token_invalid' ? problem.message : null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await get('me', {}, { headers: { Authorization: `Bearer ${secret.trim()}` } });
      signIn(secret.trim());
      locked.set(null);
    } catch (refused) {
      signOut();
      setError(refused.detail ?? refused.title ?? t('lost.title'));
    }
    setBusy(false);
  };
  const other = problem.code === 'user_not_allowed';
  return html`<main class="center" id="main"><div class="sign">
    <div class="sign-h"><${Logo} /><h1>${t('sign.title')}</h1>
      <p class="sub">${t(other ? 'sign.other' : 'sign.lead', { host: location.host })}</p></div>
    <form class="card form" onSubmit=${submit}>
      <${Field} label=${t('sign.token')} name="token" kind="password" mono value=${secret} onChange=${setSecret} error=${error} hint=${t('sign.kept')} />
      <button type="submit" class="btn primary" disabled=${busy || !secret.trim()}>${t('sign.in')}</button>
      <hr /><div class="field"><span class="label">${t('sign.get')}</span><${CodeBox} text=${COMMAND} /><span class="hint">${t('sign.get.hint')}</span></div>
    </form>
    <div class="sign-f"><a class="link" href=${docsRoot.href}>${t('docs')}</a></div>
  </div></main>`;
}
