// The exit code of an error, and the sentences about it.

import { Problem } from '../platform/errors.ts';
import { CommandError, EXIT } from './terminal.ts';

/**
 * By the name of the class, not the class itself: importing all of them would load the whole gateway to print one sentence.
 */
const BY_NAME: ReadonlyMap<string, number> = new Map([
  ['ConfigError', EXIT.usage],
  ['ModeError', EXIT.usage],
  ['CatalogError', EXIT.usage],
  ['DataDirInUseError', EXIT.conflict],
  ['EmbeddedPostgresError', EXIT.error],
  ['MigrationError', EXIT.error],
  ['BackupError', EXIT.error],
]);

/** Null for an error of an unknown kind, which is a bug. */
export function exitCodeFor(error: unknown): number | null {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof Problem) return exitCodeOf(error.status);
  if (!(error instanceof Error)) return null;
  if (error.name === 'StartError' && 'exitCode' in error) return Number(error.exitCode);
  if (error.name === 'KeyWrapperError' && 'isAway' in error) return error.isAway ? EXIT.unavailable : EXIT.usage;
  if (systemSentence(error) !== null) return EXIT.error;
  const code = 'code' in error ? String(error.code) : '';
  if ('syscall' in error && error.syscall === 'connect') return EXIT.unavailable;
  // The database of DATABASE_URL is not reachable or refuses the login (class 28, unknown database 3D000).
  if (/^(ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|ECONNRESET|28...|3D000)$/.test(code)) return EXIT.unavailable;
  return BY_NAME.get(error.name) ?? null;
}

/** What the system refuses is no error of ours: a wrong path, missing rights, a full disk. */
const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file, or its folder does not exist.',
  EEXIST: 'Something else has this name already. Choose another one.',
  ENOTDIR: 'A part of the path is not a folder.',
  ENAMETOOLONG: 'The name is too long. Choose a shorter one.',
  EISDIR: 'It is a folder, not a file.',
  EACCES: 'This user may not use it. Check its owner and its rights.',
  EPERM: 'This user may not use it. Check its owner and its rights.',
  EROFS: 'It is on a disk that can only be read.',
  ENOSPC: 'The disk is full. Free some space and run it again.',
  EDQUOT: 'The share of the disk is used up. Free some space and run it again.',
  EMFILE: 'Too many files are open. Raise the limit of open files (ulimit -n).',
};

/** Null: the error does not come from a file. */
export function systemSentence(error: unknown): string | null {
  if (!(error instanceof Error) || !('syscall' in error) || error.syscall === 'connect') return null;
  const sentence = 'code' in error ? SYSTEM_ERRORS[String(error.code)] : undefined;
  if (sentence === undefined) return null;
  return 'path' in error ? `${String(error.path)}: ${sentence}` : sentence;
}

/** Of an HTTP status. */
export function exitCodeOf(status: number): number {
  if (status === 401 || status === 403) return EXIT.auth;
  if (status === 404) return EXIT.notFound;
  if (status === 409) return EXIT.conflict;
  if (status === 429 || status === 503) return EXIT.unavailable;
  return EXIT.error;
}

/** What is wrong with each field, where the error says so. */
export function fieldSentences(error: unknown): string[] {
  if (!(error instanceof Problem)) return [];
  return Object.entries(error.details.errors ?? {}).map(([field, sentences]) => `  ${field}: ${sentences.join(' ')}`);
}
