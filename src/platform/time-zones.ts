// Days in a time zone. A zone is named as in the IANA database, which Node has.

/** The day of a moment, as people there write it in a file: 2026-11-14. */
export function dayIn(timeZone: string, moment: Date): string {
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  return parts.format(moment);
}

/** The moment at which a day (2026-11-14) begins there. */
export function startOfDay(timeZone: string, day: string): Date {
  const noonUtc = new Date(`${day}T12:00:00Z`).getTime();
  // The offset at noon first; a day whose clocks change at night is corrected by the offset at its own start.
  const first = new Date(noonUtc - 12 * 3_600_000 - offsetAt(timeZone, noonUtc));
  return new Date(noonUtc - 12 * 3_600_000 - offsetAt(timeZone, first.getTime()));
}

/** Whether Node knows the zone, by the name or by an older one. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** How far clocks there are ahead of UTC, in milliseconds. */
function offsetAt(timeZone: string, at: number): number {
  const fields = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  };
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    ...fields,
  } as Intl.DateTimeFormatOptions);
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const shown = Date.UTC(
    Number(part.year),
    Number(part.month) - 1,
    Number(part.day),
    Number(part.hour),
    Number(part.minute),
    Number(part.second),
  );
  return shown - Math.floor(at / 1000) * 1000;
}
