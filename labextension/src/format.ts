/** Numbers and times as people read them. Pure: the instant is always an argument. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
/** What stands where a fact is missing. Never a zero. */
export const UNKNOWN = '?';

/** Seconds from one ISO instant to another (or to `now`, in ms); null when either is missing. */
export function secondsBetween(from: string | null, to: string | number | null): number | null {
  if (from === null || to === null) {
    return null;
  }
  const end = typeof to === 'number' ? to : Date.parse(to);
  const span = (end - Date.parse(from)) / 1000;
  return Number.isFinite(span) ? Math.max(0, span) : null;
}

/** A running clock, e.g. `12:07`, `1:12:07`, `2 d 03:12`. `scale` fixes the shape, so that two clocks compare. */
export function clock(seconds: number, scale: number = seconds): string {
  const s = Math.floor(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  if (scale >= DAY) {
    return `${Math.floor(s / DAY)} d ${two(Math.floor(s / HOUR) % 24)}:${two(Math.floor(s / MINUTE) % 60)}`;
  }
  if (scale >= HOUR) {
    return `${Math.floor(s / HOUR)}:${two(Math.floor(s / MINUTE) % 60)}:${two(s % 60)}`;
  }
  return `${two(Math.floor(s / MINUTE))}:${two(s % 60)}`;
}

/** A length of time in its one or two largest units, e.g. `41 s`, `8 min`, `3 h 20 min`. */
export function duration(seconds: number): string {
  if (seconds < 0.1 && seconds > 0) {
    return '< 1 s';
  }
  if (seconds < 10 && !Number.isInteger(seconds)) {
    return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  }
  const s = Math.max(0, Math.floor(seconds));
  if (s >= DAY) {
    return pair(s, DAY, 'd', HOUR, 'h');
  }
  if (s >= HOUR) {
    return pair(s, HOUR, 'h', MINUTE, 'min');
  }
  return s < MINUTE ? `${s} s` : pair(s, MINUTE, 'min', s < 5 * MINUTE ? 1 : MINUTE, 's');
}

function pair(s: number, big: number, bigUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((s % big) / small);
  const head = `${Math.floor(s / big)} ${bigUnit}`;
  return rest > 0 ? `${head} ${rest} ${smallUnit}` : head;
}

/** A limit in its two largest units, e.g. `2 d`, `1 d 12 h`, `6 min 40 s`. */
export function limit(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.floor(seconds);
  for (const [whole, unit] of [[DAY, 'd'], [HOUR, 'h'], [MINUTE, 'min'], [1, 's']] as const) {
    if (rest >= whole) {
      parts.push(`${Math.floor(rest / whole)} ${unit}`);
      rest %= whole;
    }
  }
  return parts.slice(0, 2).join(' ') || '0 s';
}

/** How old something is, in one unit and never older than it is, e.g. `12 s`, `3 min`, `2 d`. */
export function age(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 90) {
    return `${s} s`;
  }
  if (s < 90 * MINUTE) {
    return `${Math.floor(s / MINUTE)} min`;
  }
  return s < 2 * DAY ? `${Math.floor(s / HOUR)} h` : `${Math.floor(s / DAY)} d`;
}

/** A size, 1024-based as schedulers count, e.g. `512 B`, `1.4 GB`. */
export function bytes(count: number): string {
  let value = count;
  for (const unit of ['B', 'KB', 'MB', 'GB', 'TB']) {
    if (value < 1024 || unit === 'TB') {
      return `${value < 100 ? Math.floor(value * 10) / 10 : Math.floor(value)} ${unit}`;
    }
    value /= 1024;
  }
  return UNKNOWN;
}

/** A count that fits a narrow column, e.g. `190`, `12.3k`; `?` when unknown. */
export function compact(count: number | null): string {
  if (count === null) {
    return UNKNOWN;
  }
  if (count < 10_000) {
    return String(count);
  }
  const [value, unit] = count < 999_500 ? [count / 1000, 'k'] : [count / 1e6, 'M'];
  return (value < 100 ? String(Math.floor(value * 10) / 10) : String(Math.floor(value))) + unit;
}

/** A count in full; `?` when unknown. */
export function count(value: number | null): string {
  return value === null ? UNKNOWN : value.toLocaleString('en-US');
}

/** A number with its noun, e.g. `1 task`, `3 tasks`, `? tasks`. */
export function counted(value: number | null, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Made once: a formatter of its own for each row of a long list would be most of that row's cost. */
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short' });

/** The reader's wall clock, with the date when it is not today's, e.g. `14:02`, `28 Nov 14:02`. */
export function moment(iso: string | null, now: number, seconds = false): string {
  if (iso === null) {
    return UNKNOWN;
  }
  const at = new Date(iso);
  const two = (n: number) => String(n).padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ''}`;
  if (at.toDateString() === new Date(now).toDateString()) {
    return time;
  }
  const month = MONTH.format(at);
  const year = at.getFullYear() === new Date(now).getFullYear() ? '' : ` ${at.getFullYear()}`;
  return `${at.getDate()} ${month}${year} ${time}`;
}
