// Cron lines in words, for the usual ones; others are left as they are.
import { t } from './text.js';

const two = (n) => String(n).padStart(2, '0');
const plain = (x) => /^\d+$/.test(x);

function dayNames(days) {
  const name = (n) => new Date(Date.UTC(2024, 0, 7 + (Number(n) % 7))).toLocaleDateString(undefined, { weekday: 'short', timeZone: 'UTC' });
  return days.split(',').map((part) => part.split('-').map(name).join('–')).join(', ');
}

/** "every day at 02:30" of "30 2 * * *". */
export function cronWords(cron) {
  const parts = String(Array.isArray(cron) ? cron[0] : cron).trim().split(/\s+/);
  if (parts.length !== 5) return String(cron);
  const [minute, hour, day, month, week] = parts;
  const every = /^\*\/(\d+)$/.exec(minute);
  if (hour === '*' && day === '*' && month === '*' && week === '*') {
    if (minute === '*') return t('cron.minute');
    if (every) return t('cron.minutes', { n: every[1] });
    if (plain(minute)) return t('cron.hour', { minute: two(minute) });
  }
  if (!plain(minute) || !plain(hour) || month !== '*') return String(cron);
  const at = `${two(hour)}:${two(minute)}`;
  if (day === '*' && week === '*') return t('cron.day', { at });
  if (day === '*' && /^[0-7](?:[-,][0-7])*$/.test(week)) return t('cron.week', { days: dayNames(week), at });
  if (week === '*' && plain(day)) return t('cron.month', { day, at });
  return String(cron);
}
