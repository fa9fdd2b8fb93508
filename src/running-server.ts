// The server that uses DATA_DIR. Beside open-context.ts, because a command that only asks for it needs no database.

import { dataDirOwner } from './embedded-postgres/data-dir-lock.ts';
import { type Config, dataPath } from './platform/config.ts';

/** The server that uses DATA_DIR, if one is running. */
export function runningServer(config: Config): { pid: number; url: string } | null {
  const owner = dataDirOwner(dataPath(config));
  return owner?.url ? owner : null;
}
