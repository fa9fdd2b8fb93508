/** The backup cannot be used; the message says why and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
