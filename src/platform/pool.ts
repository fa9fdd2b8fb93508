// Connections to one server: the pool of undici. The index of the package also loads its fetch, its cache, its web sockets and its
// mocks, ninety files and 2.5 MB of heap that no call of ours uses, so the files of the pool are named here.

import { createRequire } from 'node:module';

type Undici = typeof import('undici');
type WholePool = InstanceType<Undici['Pool']>;

/** What the pool has without the index, and `request`, which the index adds. */
export type Pool = Pick<WholePool, 'dispatch' | 'request' | 'stats' | 'close' | 'destroy'>;
export const Pool = loadPool();

function loadPool(): new (...given: ConstructorParameters<Undici['Pool']>) => Pool {
  const load = createRequire(import.meta.url);
  const pool = load('undici/lib/dispatcher/pool.js') as Undici['Pool'];
  pool.prototype.request = load('undici/lib/api/api-request.js') as WholePool['request'];
  return pool;
}
