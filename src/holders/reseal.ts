// Seals the secrets of integrations and the second factors of members again, after the keys of the vault were rotated. A value
// that does not open is left and logged: it belongs to another row, or was changed.

import type { Context } from '../platform/context.ts';
import type { SealedColumns } from '../platform/reseal.ts';
import { openSecret, type SecretPlace, sealPurpose } from './integration-secrets.ts';
import { MAIL_SEAL_PURPOSE } from './mail-queue.ts';
import { factorSealPurpose } from './second-factor.ts';

export const SEALED_INTEGRATION_SECRETS: SealedColumns = {
  columns: ['integration_secrets.sealed'],
  reseal: (ctx, limit) =>
    ctx.db.transaction(async (tx) => {
      const rows = await tx.query<SecretPlace & { sealed: Buffer }>(
        `select i.holder_id as "holderId", s.integration_id as "integrationId", s.kind, s.slot, s.sealed
         from integration_secrets s join integrations i on i.id = s.integration_id
         where substring(s.sealed from 1 for 5) <> $1 limit $2 for update of s skip locked`,
        [ctx.vault.sealedPrefix(), limit],
      );
      let changed = 0;
      for (const row of rows) {
        const sealed = await sealAgain(ctx, 'integration_secrets', sealPurpose(row), () =>
          openSecret(ctx.vault, row, row.sealed),
        );
        if (sealed === null) continue;
        await tx.query(
          'update integration_secrets set sealed = $4 where integration_id = $1 and kind = $2 and slot = $3',
          [row.integrationId, row.kind, row.slot, sealed],
        );
        changed++;
      }
      return changed;
    }),
  async countOthers(reader, prefix) {
    const [row] = await reader.query<{ count: number }>(
      'select count(*)::int as count from integration_secrets where substring(sealed from 1 for 5) <> $1',
      [prefix],
    );
    return row?.count ?? 0;
  },
};

type FactorRow = { id: bigint; totp_sealed: Buffer | null; totp_pending: Buffer | null };

export const SEALED_SECOND_FACTORS: SealedColumns = {
  columns: ['members.totp_sealed', 'members.totp_pending'],
  reseal: (ctx, limit) =>
    ctx.db.transaction(async (tx) => {
      const rows = await tx.query<FactorRow>(
        `select id, totp_sealed, totp_pending from members
         where substring(totp_sealed from 1 for 5) <> $1 or substring(totp_pending from 1 for 5) <> $1
         limit $2 for update skip locked`,
        [ctx.vault.sealedPrefix(), limit],
      );
      let changed = 0;
      for (const { id, totp_sealed, totp_pending } of rows) {
        const purpose = factorSealPurpose(id);
        const again = async (value: Buffer | null) =>
          value && sealAgain(ctx, 'members', purpose, () => ctx.vault.open(value, purpose));
        const [sealed, pending] = [await again(totp_sealed), await again(totp_pending)];
        if ((totp_sealed && !sealed) || (totp_pending && !pending)) continue;
        await tx.query('update members set totp_sealed = $2, totp_pending = $3 where id = $1', [id, sealed, pending]);
        changed++;
      }
      return changed;
    }),
  async countOthers(reader, prefix) {
    const [row] = await reader.query<{ count: number }>(
      `select count(*)::int as count from members
       where substring(totp_sealed from 1 for 5) <> $1 or substring(totp_pending from 1 for 5) <> $1`,
      [prefix],
    );
    return row?.count ?? 0;
  },
};

export const SEALED_MAILS: SealedColumns = {
  columns: ['mails.text_sealed'],
  reseal: (ctx, limit) =>
    ctx.db.transaction(async (tx) => {
      const rows = await tx.query<{ id: bigint; text_sealed: Buffer }>(
        `select id, text_sealed from mails where substring(text_sealed from 1 for 5) <> $1
         limit $2 for update skip locked`,
        [ctx.vault.sealedPrefix(), limit],
      );
      let changed = 0;
      for (const { id, text_sealed } of rows) {
        const sealed = await sealAgain(ctx, 'mails', MAIL_SEAL_PURPOSE, () =>
          ctx.vault.open(text_sealed, MAIL_SEAL_PURPOSE),
        );
        if (sealed === null) continue;
        await tx.query('update mails set text_sealed = $2 where id = $1', [id, sealed]);
        changed++;
      }
      return changed;
    }),
  async countOthers(reader, prefix) {
    const [row] = await reader.query<{ count: number }>(
      'select count(*)::int as count from mails where substring(text_sealed from 1 for 5) <> $1',
      [prefix],
    );
    return row?.count ?? 0;
  },
};

async function sealAgain(
  ctx: Context,
  table: string,
  purpose: string,
  open: () => Promise<string>,
): Promise<Buffer | null> {
  try {
    return ctx.vault.seal(await open(), purpose);
  } catch {
    ctx.log.error({ table, purpose }, 'a sealed value does not open; it was not sealed again');
    return null;
  }
}
