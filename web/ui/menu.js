// A button that opens a list of rarer actions. Esc and a click elsewhere close it.
import { html, useEffect, useRef, useState } from '../lib/view.js';

export function Menu({ label, button, className = 'btn', children }) {
  const [open, setOpen] = useState(false);
  const box = useRef();
  useEffect(() => {
    if (!open) return undefined;
    const away = (event) => { if (!box.current?.contains(event.target)) setOpen(false); };
    const escape = (event) => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      box.current?.querySelector('button')?.focus();
    };
    document.addEventListener('pointerdown', away);
    document.addEventListener('keydown', escape);
    return () => {
      document.removeEventListener('pointerdown', away);
      document.removeEventListener('keydown', escape);
    };
  }, [open]);
  return html`<div class="menu-b" ref=${box}>
    <button type="button" class=${className} aria-label=${label} aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${button}</button>
    ${open && html`<div class="menu">${typeof children === 'function' ? children(() => setOpen(false)) : children}</div>`}
  </div>`;
}
