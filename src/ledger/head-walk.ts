// The heads: each joins blocks that are there, and follows the head before.

import type { Reader } from '../platform/db.ts';
import { findHead, type Head, headHash, type KnownHead } from './chain.ts';
import { at, BLOCKS_READ, type ChainStep, checkLink, type Walk } from './chain-links.ts';
import type { ReportDifference } from './differences.ts';

type HeadRow = { number: bigint; blocks: string[]; previous_hash: Buffer; hash: Buffer; hashes: (string | null)[] };

export async function* walkHeads(walk: Walk, past: Head): AsyncGenerator<ChainStep> {
  const { reader, counts } = walk;
  const start = walk.place.head > past.number ? await findHead(reader, walk.place.head) : past;
  let previous: Head = start ?? { ...past, number: walk.place.head };
  for (;;) {
    const rows = await readHeads(reader, previous.number);
    for (const row of rows) {
      checkHead(walk.report, row, previous, past.hash);
      previous = { ...previous, number: row.number, hash: row.hash, blocks: row.blocks.map(BigInt) };
      counts.heads++;
    }
    if (rows.length > 0) yield at(walk, { head: previous.number });
    if (rows.length < BLOCKS_READ) break;
  }
  counts.head = previous.number === 0n ? null : { number: previous.number, hash: previous.hash.toString('hex') };
}

function readHeads(reader: Reader, after: bigint): Promise<HeadRow[]> {
  return reader.query<HeadRow>(
    `select h.number, h.blocks, h.previous_hash, h.hash, array(
       select encode(b.hash, 'hex') from unnest(h.blocks) with ordinality as named (number, place)
       left join ledger_partition_blocks b on b.partition = named.place - 1 and b.number = named.number
       order by named.place) as hashes
     from ledger_heads h where h.number > $1 order by h.number limit ${BLOCKS_READ}`,
    [after],
  );
}

function checkHead(report: ReportDifference, head: HeadRow, previous: Head, genesis: Buffer): void {
  const named = { name: `Head ${head.number}`, where: `head ${head.number}` };
  checkLink(head, previous, named, report);
  const differs = (expected: string, found: string, sentence: string) =>
    report({ what: 'block', where: named.where, expected, found, sentence: `${named.name} ${sentence}` });
  const hashes = head.blocks.map((number, partition) => {
    if (BigInt(number) < (previous.blocks[partition] ?? 0n))
      differs(`block ${previous.blocks[partition]}`, `block ${number}`, `goes back in partition ${partition}.`);
    const hash = head.hashes[partition];
    if (number === '0') return genesis;
    if (!hash)
      differs(
        `block ${partition}/${number}`,
        'no such block',
        `names block ${number} of partition ${partition}, which was removed.`,
      );
    return hash ? Buffer.from(hash, 'hex') : null;
  });
  if (hashes.includes(null)) return;
  const expected = headHash(
    previous.hash,
    hashes.map((hash) => hash ?? genesis),
  );
  if (!expected.equals(head.hash))
    differs(
      head.hash.toString('hex'),
      expected.toString('hex'),
      'does not have the hash it was sealed with: a block that it joins was edited.',
    );
}

/** Compares heads that were noted down elsewhere with those in the database. */
export async function checkKnownHeads(
  reader: Reader,
  known: readonly KnownHead[],
  report: ReportDifference,
): Promise<void> {
  for (const { number, hash } of known) {
    const head = await findHead(reader, number);
    const found = head ? head.hash.toString('hex') : 'no such block';
    if (found === hash) continue;
    const sentence = head
      ? `Block ${number} is not the block that was noted down: the past was rewritten.`
      : `Block ${number} was noted down and is not there: the end of the chain was removed.`;
    report({ what: 'block', where: `block ${number}`, expected: hash, found, sentence });
  }
}
