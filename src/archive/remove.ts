// Removes from the database the evidence of months that an archive has. Before that, the files of the month are verified and its
// evidence is compared with the database, byte by byte. The removal and its audit row are one transaction of the owner.

import { COMMAND_LINE, recordAudit } from '../holders/audit.ts';
import { evidenceUpTo, findArchivedMonth, removeArchivedEvidence } from '../payments/archived-rows.ts';
import { beginCopy, connectForCopy } from '../platform/copy-connection.ts';
import type { Database } from '../platform/db.ts';
import type { Month } from '../platform/months.ts';
import { ArchiveError, fileName, type Manifest, requireArchive } from './month-folder.ts';
import { requireIntactMonth } from './verify.ts';
import { contentOf } from './write.ts';

export type RemoveOptions = {
  /** With the rights of the owner of the tables. */
  databaseUrl: string;
  owner: Database;
  folder: string;
  /** Evidence of months that ended by then is removed. */
  before: Date;
  at: Date;
  onMonth?: (month: string) => void;
};

export type RemovedMonth = { month: string; removed: bigint; kept: bigint };

/** Removes what the archive has, month by month. A month that was removed before is left out. */
export async function removeArchived(options: RemoveOptions): Promise<RemovedMonth[]> {
  const months = (await requireArchive(options.folder)).months.filter(({ to }) => to <= options.before);
  const removed: RemovedMonth[] = [];
  for (const month of months) {
    if (await findArchivedMonth(options.owner, month.from)) continue;
    options.onMonth?.(month.name);
    removed.push(await removeMonth(options, month));
  }
  return removed;
}

async function removeMonth(options: RemoveOptions, month: Month): Promise<RemovedMonth> {
  const { manifest, sha256 } = await requireIntactMonth(options.folder, month);
  const rows = await compareEvidence(options, month, manifest);
  const done = await options.owner.transaction(async (tx) => {
    // A month of a large gateway takes longer than requests may; waiting for a lock does not, because payments wait behind it.
    await tx.query('set local statement_timeout = 0');
    const row = await removeArchivedEvidence(tx, month, {
      rows,
      lastId: BigInt(manifest.last_evidence),
      writtenAt: new Date(manifest.written_at),
      manifestSha256: sha256,
    });
    const details = { removed: Number(row.rows_removed), kept: Number(row.rows_kept), manifest_sha256: sha256 };
    await recordAudit(
      tx,
      { holderId: null, actor: COMMAND_LINE, action: 'archive.evidence_removed', subject: month.name, details },
      options.at,
    );
    return row;
  });
  return { month: month.name, removed: done.rows_removed, kept: done.rows_kept };
}

/** Returns how many rows of evidence the archive has, which are those of the database. */
async function compareEvidence({ databaseUrl }: RemoveOptions, month: Month, manifest: Manifest): Promise<number> {
  const file = manifest.files.find(({ table }) => table === 'evidence');
  if (!file) throw new ArchiveError(`The archive of ${month.name} has no evidence.`);
  const client = await connectForCopy(databaseUrl, 'simbi-archive');
  try {
    await beginCopy(client, 'read');
    const database = await contentOf(client, evidenceUpTo(month, BigInt(manifest.last_evidence)));
    if (database.content_sha256 !== file.content_sha256)
      throw new ArchiveError(
        `${month.name}/${fileName('evidence')} differs from the database (${file.rows} rows, the database has ` +
          `${database.rows}). It is an archive of another database, or rows were changed. Nothing was removed.`,
      );
    return file.rows;
  } finally {
    await client.end();
  }
}
