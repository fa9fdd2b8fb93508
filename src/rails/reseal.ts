// Seals the secrets of connections again after the keys of the vault were rotated. Access tokens are forgotten instead: a new one
// costs one call.

import type { SealedColumns } from '../platform/reseal.ts';
import { secretsPurpose } from './connections.ts';

export const SEALED_CONNECTIONS: SealedColumns = {
  columns: ['connections.sealed'],
  reseal: (ctx, limit) =>
    ctx.db.transaction(async (tx) => {
      const rows = await tx.query<{ name: string; sealed: Buffer }>(
        `select name, sealed from connections where substring(sealed from 1 for 5) <> $1 limit $2 for update skip locked`,
        [ctx.vault.sealedPrefix(), limit],
      );
      let changed = 0;
      for (const { name, sealed } of rows) {
        const purpose = secretsPurpose(name);
        const secrets = await ctx.vault.open(sealed, purpose).catch(() => null);
        if (secrets === null) {
          ctx.log.error({ connection: name }, 'the secrets of a connection do not open; they were not sealed again');
          continue;
        }
        await tx.query('update connections set sealed = $2 where name = $1', [name, ctx.vault.seal(secrets, purpose)]);
        changed++;
      }
      return changed;
    }),
  async countOthers(reader, prefix) {
    const [row] = await reader.query<{ count: number }>(
      'select count(*)::int as count from connections where substring(sealed from 1 for 5) <> $1',
      [prefix],
    );
    return row?.count ?? 0;
  },
};

export const SEALED_CONNECTION_TOKENS: SealedColumns = {
  columns: ['connection_tokens.sealed'],
  reseal: (ctx, limit) =>
    ctx.db.single(async (tx) => {
      const rows = await tx.query(
        `delete from connection_tokens where (connection, kind) in (
           select connection, kind from connection_tokens where substring(sealed from 1 for 5) <> $1
           limit $2 for update skip locked)
         returning 1`,
        [ctx.vault.sealedPrefix(), limit],
      );
      return rows.length;
    }),
  async countOthers(reader, prefix) {
    const [row] = await reader.query<{ count: number }>(
      'select count(*)::int as count from connection_tokens where substring(sealed from 1 for 5) <> $1',
      [prefix],
    );
    return row?.count ?? 0;
  },
};
