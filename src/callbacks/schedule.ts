// When a callback is retried: the delays of the contract, and the Retry-After of receivers.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The delay after the first failed attempt, after the second, and so on. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  15 * SECOND_MS,
  30 * SECOND_MS,
  1 * MINUTE_MS,
  2 * MINUTE_MS,
  5 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  1 * HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
];
/** After the array, until the event is given up. */
export const LATER_DELAY_MS = 12 * HOUR_MS;
export const GIVE_UP_AFTER_MS = 30 * 24 * HOUR_MS;
/** Each delay is made longer or shorter by up to this share, so that retries do not come in waves. */
export const JITTER = 0.2;
const SHORTEST_RETRY_AFTER_MS = 1 * SECOND_MS;
const LONGEST_RETRY_AFTER_MS = 6 * HOUR_MS;

/** The moment of the next attempt after `attempts` failed ones, or null when the event is given up. */
export function nextAttempt(
  failed: { attempts: number; startedAt: Date; at: Date; retryAfterMs: number | null },
  random: () => number,
): Date | null {
  const planned = (RETRY_DELAYS_MS[failed.attempts - 1] ?? LATER_DELAY_MS) * (1 + JITTER * (2 * random() - 1));
  const next = failed.at.getTime() + Math.round(failed.retryAfterMs ?? planned);
  return next > failed.startedAt.getTime() + GIVE_UP_AFTER_MS ? null : new Date(next);
}

/** The delay of a Retry-After header, in seconds or as a date, within bounds; null when the header is not valid. */
export function readRetryAfter(header: string | undefined, at: Date): number | null {
  const text = header?.trim() ?? '';
  const requestedMs = /^[+-]?\d{1,15}$/.test(text) ? Number(text) * SECOND_MS : dateMillis(text) - at.getTime();
  if (Number.isNaN(requestedMs)) return null;
  return Math.min(Math.max(requestedMs, SHORTEST_RETRY_AFTER_MS), LONGEST_RETRY_AFTER_MS);
}

/** Only the date format of HTTP: `Date.parse` alone would also accept "tomorrow 5". */
function dateMillis(text: string): number {
  return /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text) ? Date.parse(text) : Number.NaN;
}
