// The chain from before there were partitions: one chain of blocks over the transfers of all holders, by id. It is complete, and is
// compared as it was sealed.

import type { Reader } from '../platform/db.ts';
import { findHead } from './chain.ts';
import {
  at,
  BLOCKS_READ,
  type ChainStep,
  checkContent,
  checkLink,
  MAX_ID,
  readGroups,
  type Walk,
} from './chain-links.ts';
import type { ReportDifference } from './differences.ts';
import { TRANSFER_LINE } from './transfer-lines.ts';

type PastBlock = {
  number: bigint;
  after_id: bigint;
  last_id: bigint;
  transfers: number;
  previous_hash: Buffer;
  hash: Buffer;
};

type EarlierBlock = Pick<PastBlock, 'number' | 'last_id' | 'hash'>;
const NO_BLOCK: EarlierBlock = { number: 0n, last_id: 0n, hash: Buffer.alloc(32) };

export async function* walkPast(walk: Walk): AsyncGenerator<ChainStep> {
  const { reader, report, counts } = walk;
  let previous: EarlierBlock = (walk.place.past > 0n && (await findHead(reader, walk.place.past))) || NO_BLOCK;
  for await (const group of readGroups((after) => readPastBlocks(reader, after), walk.place.past)) {
    const rows = await reader.query<{ id: bigint; line: string }>(
      `select id, ${TRANSFER_LINE} as line from ledger_transfers where position is null and id > $1 and id <= $2 order by id`,
      // What is before the first id that was ever drawn is read too.
      [previous.number === 0n ? -MAX_ID : previous.last_id, group.at(-1)?.last_id],
    );
    let next = 0;
    for (const block of group) {
      const from = next;
      while ((rows[next]?.id ?? MAX_ID) <= block.last_id) next++;
      const lines = rows.slice(from, next).map(({ line }) => line);
      yield { lines };
      checkPastLink(block, previous, report);
      checkContent(block, pastName(block), `block ${block.number}`, lines, report);
      counts.blocks++;
      previous = block;
      yield at(walk, { past: block.number });
    }
  }
}

function readPastBlocks(reader: Reader, after: bigint): Promise<PastBlock[]> {
  return reader.query<PastBlock>(
    `select number, after_id, last_id, transfers, previous_hash, hash from ledger_blocks
     where number > $1 order by number limit ${BLOCKS_READ}`,
    [after],
  );
}

const pastName = (block: PastBlock) =>
  `Block ${block.number} (transfers after ${block.after_id} up to ${block.last_id})`;

/** A past block continues the block before it: its number, its first id and the hash it names. */
function checkPastLink(block: PastBlock, previous: EarlierBlock, report: ReportDifference): void {
  checkLink(block, previous, { name: pastName(block), where: `block ${block.number}` }, report);
  if (block.number === previous.number + 1n && block.after_id !== previous.last_id)
    report({
      what: 'block',
      where: `block ${block.number}`,
      expected: `after ${previous.last_id}`,
      found: `after ${block.after_id}`,
      sentence: `${pastName(block)} does not begin where the block before ends.`,
    });
}
