// The original of a statement, byte for byte as it came.

import { createHash } from 'node:crypto';
import type { Reader } from '../platform/db.ts';
import { readPart, type StatementFile } from './statement-files.ts';

/** Throws at its end where the parts are not the file that was imported. */
export async function* originalOf(reader: Reader, { id, sha256 }: StatementFile): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for (let number = 0; ; number++) {
    const part = await readPart(reader, id, number);
    if (part === null) break;
    hash.update(part);
    yield part;
  }
  if (!hash.digest().equals(sha256))
    throw new Error(`The stored parts of statement ${id} are not the file that was imported.`);
}
