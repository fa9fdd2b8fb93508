// Logs: one JSON line each, on standard output or to a file. Phone numbers keep their last three digits; secrets, tokens and
// signatures are never written.

import { type DestinationStream, type Logger, pino } from 'pino';

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

/** `254712345678` → `*********678`. */
export function maskNumber(number: string | null | undefined): string {
  const digits = number ?? '';
  return digits.length <= 3 ? digits : '*'.repeat(digits.length - 3) + digits.slice(-3);
}
