// Logs: one JSON line each, on standard output or to a file. Phone numbers keep their last three digits; secrets, tokens and
// signatures are never written. A file is rotated by size while the process runs.

import { once } from 'node:events';
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';

/** The file that is written, and these older ones: `name.1` is the newest of them. */
const KEPT_FILES = 4;
const MAX_FILE_BYTES = 20 * 1024 * 1024;

const NEVER_LOGGED = [
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
];

export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: NEVER_LOGGED.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[secret]' },
    serializers: { mobile: maskNumber, phone: maskNumber, msisdn: maskNumber, err: pino.stdSerializers.err },
  };
  return destination ? pino(options, destination) : pino(options);
}

export type LogFile = DestinationStream & { flush(): Promise<void> };

/** A log file of limited size: when it is full it gets the ending `.1`, and the oldest one is deleted. */
export function openLogFile(path: string, maxBytes = MAX_FILE_BYTES): LogFile {
  const destination = pino.destination({ dest: path, sync: false, mode: 0o600 });
  let bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  // Lines that wait go to the new file. It must be open before it is rotated in its turn.
  let isOpen = false;
  destination.on('ready', () => {
    isOpen = true;
  });
  function rotate(): void {
    rmSync(`${path}.${KEPT_FILES}`, { force: true });
    for (let number = KEPT_FILES; number > 0; number--) {
      const from = number === 1 ? path : `${path}.${number - 1}`;
      if (existsSync(from)) renameSync(from, `${path}.${number}`);
    }
    isOpen = false;
    destination.reopen();
    bytes = 0;
  }
  return {
    write(line) {
      if (bytes >= maxBytes && isOpen) rotate();
      bytes += Buffer.byteLength(line);
      destination.write(line);
    },
    async flush() {
      // A start that fails at once flushes before the file is open. A file that cannot be opened has nothing to flush.
      if (!isOpen && !(await opens(destination))) return;
      destination.flushSync();
    },
  };
}

async function opens(destination: ReturnType<typeof pino.destination>): Promise<boolean> {
  try {
    await once(destination, 'ready');
    return true;
  } catch {
    return false;
  }
}

/** `254712345678` → `*********678`. */
export function maskNumber(number: string | null | undefined): string {
  const digits = number ?? '';
  return digits.length <= 3 ? digits : '*'.repeat(digits.length - 3) + digits.slice(-3);
}
