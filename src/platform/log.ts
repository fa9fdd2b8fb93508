// Logs: one JSON line each, on standard output or to a file. Phone numbers keep their last three digits; secrets, tokens and
// signatures are never written. A file is rotated by size while the process runs.

import { closeSync, existsSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import { systemClock } from './clock.ts';

/** The file that is written, and these older ones: `name.1` is the newest of them. */
const KEPT_FILES = 4;
const MAX_FILE_BYTES = 20 * 1024 * 1024;

/** What standard output does not take is kept up to this size. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Lines are written together: at the latest after this time, or when so many characters wait. A warning is written at once. */
const COLLECT_MS = 100;
const COLLECT_CHARACTERS = 16 * 1024;
const ROUTINE_LINE = /^\{"level":"(?:info|debug|trace)"/;

const NEVER_LOGGED: ReadonlySet<string> = new Set([
  'secret_key',
  'secretKey',
  'secret',
  'token',
  'signature',
  'password',
  'masterKey',
  'masterKeyPrevious',
  'awsSecretAccessKey',
  'vaultToken',
  'backupPassphrase',
  'authorization',
  'cookie',
  'pin',
  'otp',
]);
/** Deeper objects are not looked at. */
const MAX_DEPTH = 4;

/** `base` is in every line. */
export function createLogger(
  level: string,
  destination?: DestinationStream,
  base: Record<string, unknown> | null = null,
): Logger {
  const options = {
    level,
    base,
    timestamp: createTimestamp(),
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (line: object) => withoutSecrets(line, 1) as Record<string, unknown>,
    },
    serializers: {
      mobile: maskNumber,
      phone: maskNumber,
      msisdn: maskNumber,
      err: (error: Error) => withoutSecrets(pino.stdSerializers.err(error), 1),
    },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Texts and numbers of ours, none of them a secret. */
export type RoutineLine = Readonly<Record<string, unknown>>;

/**
 * Writes `log.info(line, message)` at a third of its price. Every request has such a line, and pino looks at each of its members,
 * because it may hold anything.
 */
export function createRoutineLog(log: Logger, message: string): (line: RoutineLine) => void {
  const destination = (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym];
  const bindings = JSON.stringify(log.bindings()).slice(1, -1);
  const start = '{"level":"info"';
  const base = bindings === '' ? '' : `,${bindings}`;
  const end = `,"msg":${JSON.stringify(message)}}\n`;
  const timestamp = createTimestamp();
  return (line) => {
    if (!log.isLevelEnabled('info')) return;
    const members = JSON.stringify(line).slice(1, -1);
    destination?.write(`${start}${timestamp()}${base}${members === '' ? '' : `,${members}`}${end}`);
  };
}

/** `,"time":"2026-03-02T09:00:00.000Z"`, made once a millisecond: many lines are written in one. */
function createTimestamp(): () => string {
  let millis = -1;
  let text = '';
  return () => {
    const now = systemClock.millis();
    if (now !== millis) text = `,"time":"${new Date(now).toISOString()}"`;
    millis = now;
    return text;
  };
}

/**
 * The same object, or a copy without what must not be logged. Pino's own redaction copies every line to look for paths, which
 * took a third of the processor time of an accepted payment; a line of ours seldom holds an object.
 */
function withoutSecrets(value: object, depth: number): object {
  let changed: Record<string, unknown> | null = null;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const member = members[name];
    const shown = NEVER_LOGGED.has(name) && member !== undefined ? '[secret]' : shownValue(name, member, depth);
    if (shown === member) continue;
    changed ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    changed[name] = shown;
  }
  return changed ?? value;
}

function shownValue(name: string, member: unknown, depth: number): unknown {
  if (typeof member !== 'object' || member === null || depth >= MAX_DEPTH) return member;
  // Its serializer looks at what it writes. Objects that print themselves (a date, bytes) have no members to hide.
  if ((name === 'err' && member instanceof Error) || 'toJSON' in member) return member;
  return withoutSecrets(member, depth + 1);
}

export type Log = DestinationStream & {
  /** Writes the lines that wait. Pino calls it for a line that ends the process. */
  flushSync(): void;
};

/** A log file of limited size: when it is full it gets the ending `.1`, and the oldest one is deleted. */
export function openLogFile(path: string, maxBytes = MAX_FILE_BYTES): Log {
  const open = () => openSync(path, 'a', 0o600);
  let file = open();
  let bytes = fstatSync(file).size;
  function rotate(): void {
    rmSync(`${path}.${KEPT_FILES}`, { force: true });
    for (let number = KEPT_FILES; number > 0; number--) {
      const from = number === 1 ? path : `${path}.${number - 1}`;
      if (existsSync(from)) renameSync(from, `${path}.${number}`);
    }
    const full = file;
    file = open();
    closeSync(full);
    bytes = 0;
  }
  return collectLines((text) => {
    try {
      if (bytes >= maxBytes) rotate();
      bytes += writeSync(file, text);
    } catch {
      // A full disk must not end the process. What cannot be written can be said nowhere.
    }
  });
}

/** Standard output, for a process manager. */
export function openStandardLog(fd: number = process.stdout.fd): Log {
  const destination = pino.destination({ fd, sync: true, maxLength: MAX_WAITING_BYTES });
  // It may be a file on a full disk: lines wait until there is room, and without a listener Node would stop the process.
  destination.on('error', () => undefined);
  return collectLines((text) => void destination.write(text));
}

/** A line at a time costs a call of the system each; together they cost one. */
function collectLines(writeText: (text: string) => void): Log {
  let lines: string[] = [];
  let characters = 0;
  let timer: NodeJS.Timeout | null = null;
  function flushSync(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    if (lines.length === 0) return;
    const text = lines.join('');
    lines = [];
    characters = 0;
    writeText(text);
  }
  return {
    flushSync,
    write(line) {
      lines.push(line);
      characters += line.length;
      if (characters >= COLLECT_CHARACTERS || !ROUTINE_LINE.test(line)) flushSync();
      else timer ??= setTimeout(flushSync, COLLECT_MS).unref();
    },
  };
}

/** `254712345678` → `*********678`. */
export function maskNumber(number: string | null | undefined): string {
  const digits = number ?? '';
  return digits.length <= 3 ? digits : '*'.repeat(digits.length - 3) + digits.slice(-3);
}
