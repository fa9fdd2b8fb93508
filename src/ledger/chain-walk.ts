// Walks along the hash chain: the past blocks, the blocks of each partition, the heads, and last what is in no block. It gives
// the text of every transfer once, those of one holder in the order in which they were posted, and reports each block and head
// that does not match. After each block it says where it is, and it can start from any such place.

import type { Reader } from '../platform/db.ts';
import { type Head, lastTransferId, PARTITIONS, pastEnd } from './chain.ts';
import {
  at,
  BEGINNING,
  BLOCKS_READ,
  type ChainCounts,
  type ChainPlace,
  type ChainStep,
  checkContent,
  checkLink,
  MAX_ID,
  type Named,
  PIECE,
  readGroups,
  type Walk,
} from './chain-links.ts';
import type { ReportDifference } from './differences.ts';
import { walkHeads } from './head-walk.ts';
import { walkPast } from './past-walk.ts';
import { type HashedLine, type HolderSpan, readLines, TRANSFER_LINE } from './transfer-lines.ts';

const HOLDERS_READ = 500;
/** Ids that are searched at a time for rows outside the chain. */
const STRAY_RANGE = 200_000n;

/** `idsAfter`: where rows that are in no block are looked for, null: everywhere. */
export async function* walkChain(
  reader: Reader,
  start: { readonly place: ChainPlace; readonly idsAfter: bigint | null },
  counts: ChainCounts,
  report: ReportDifference,
): AsyncGenerator<ChainStep> {
  const walk: Walk = { reader, report, counts, whole: start.place === BEGINNING, seen: new Map(), place: start.place };
  const past = await pastEnd(reader);
  yield* walkPast(walk);
  for (let partition = 0; partition < PARTITIONS; partition++) yield* walkPartition(walk, partition, past.hash);
  yield* walkHeads(walk, past);
  // Last, because a walk that pauses can go on after a block or a head only.
  yield* walkUnsealed(walk);
  yield* findStrays(walk, past, start.idsAfter);
}

type Part = { holder: bigint; after: bigint; position: bigint };
type PartitionBlock = {
  number: bigint;
  transfers: number;
  holders: string[];
  after_positions: string[];
  positions: string[];
  previous_hash: Buffer;
  hash: Buffer;
};

async function* walkPartition(walk: Walk, partition: number, genesis: Buffer): AsyncGenerator<ChainStep> {
  const { reader, report, counts } = walk;
  const start = walk.place.blocks[partition] ?? 0n;
  let previous = { number: 0n, hash: genesis };
  if (start > 0n) previous = (await findBlock(reader, partition, start)) ?? { number: start, hash: genesis };
  for await (const group of readGroups((after) => readBlocks(reader, partition, after), start)) {
    const byBlock = await readSealed(reader, group);
    for (const block of group) {
      const rows = byBlock.get(block.number) ?? [];
      const lines = rows.map(({ line }) => line);
      yield { lines };
      const where = `block ${partition}/${block.number}`;
      const name = `Block ${block.number} of partition ${partition}`;
      checkLink(block, previous, { name, where }, report);
      checkParts(walk, block, { name, where }, rows);
      checkContent(block, name, where, lines, report);
      counts.blocks++;
      previous = block;
      yield at(walk, { blocks: walk.place.blocks.with(partition, block.number) });
    }
  }
}

async function findBlock(reader: Reader, partition: number, number: bigint) {
  const [block] = await reader.query<{ number: bigint; hash: Buffer }>(
    'select number, hash from ledger_partition_blocks where partition = $1 and number = $2',
    [partition, number],
  );
  return block ?? null;
}

function readBlocks(reader: Reader, partition: number, after: bigint): Promise<PartitionBlock[]> {
  return reader.query<PartitionBlock>(
    `select number, transfers, holders, after_positions, positions, previous_hash, hash from ledger_partition_blocks
     where partition = $1 and number > $2 order by number limit ${BLOCKS_READ}`,
    [partition, after],
  );
}

const byValue = (one: bigint, other: bigint) => Number(one - other);

/** The transfers of some blocks, by the number of the block. */
async function readSealed(reader: Reader, blocks: readonly PartitionBlock[]): Promise<Map<bigint, HashedLine[]>> {
  const parts = blocks
    .flatMap((block) => partsOf(block).map((part) => ({ ...part, number: block.number })))
    .sort((one, other) => byValue(one.holder, other.holder));
  const spans = [...Map.groupBy(parts, ({ holder }) => holder)].map(([holder, own]) => ({
    holder,
    after: own.map(({ after }) => after).sort(byValue)[0] ?? 0n,
    upTo:
      own
        .map(({ position }) => position)
        .sort(byValue)
        .at(-1) ?? 0n,
  }));
  const byHolder = Map.groupBy(await readLines(reader, spans, null), ({ holder_id }) => holder_id);
  const sealed = new Map<bigint, HashedLine[]>();
  for (const { number, holder, after, position } of parts) {
    const own = (byHolder.get(holder) ?? []).filter((row) => row.position > after && row.position <= position);
    sealed.set(number, [...(sealed.get(number) ?? []), ...own]);
  }
  return sealed;
}

/** A block goes on where the block before left each of its holders, and no position in it is missing. */
function checkParts(walk: Walk, block: PartitionBlock, { name, where }: Named, rows: readonly HashedLine[]): void {
  const byHolder = Map.groupBy(rows, ({ holder_id }) => holder_id);
  for (const { holder, after, position } of partsOf(block)) {
    const seen = walk.seen.get(holder) ?? (walk.whole ? 0n : after);
    if (seen !== after)
      walk.report({
        what: 'block',
        where,
        expected: `after position ${seen} of holder ${holder}`,
        found: `after position ${after}`,
        sentence: `${name} does not begin where the block before ends for holder ${holder}.`,
      });
    reportGaps(walk.report, holder, after, position, byHolder.get(holder) ?? []);
    walk.seen.set(holder, position);
  }
}

function partsOf({ holders, after_positions, positions }: PartitionBlock): Part[] {
  return holders.map((holder, index) => ({
    holder: BigInt(holder),
    after: BigInt(after_positions[index] ?? 0),
    position: BigInt(positions[index] ?? 0),
  }));
}

/** Positions that are missing among those after `after` up to `last`. */
function reportGaps(
  report: ReportDifference,
  holder: bigint,
  after: bigint,
  last: bigint,
  rows: readonly { position: bigint }[],
): void {
  let expected = after + 1n;
  for (const position of [...rows.map((row) => row.position), last + 1n]) {
    if (position > expected) {
      const to = position - 1n;
      const places = to === expected ? `position ${expected}` : `positions ${expected} to ${to}`;
      report({
        what: 'transfer',
        where: `holder ${holder}, ${places}`,
        expected: to === expected ? 'a transfer' : `${to - expected + 1n} transfers`,
        found: 'none',
        sentence: `Holder ${holder} has no transfer at ${places}: it was removed, or given to another holder.`,
      });
    }
    expected = position + 1n;
  }
}

type HolderRow = { holder_id: bigint; sealed: bigint; counted: bigint; last: bigint };

async function* walkUnsealed(walk: Walk): AsyncGenerator<ChainStep> {
  const { reader, report, counts, seen, whole } = walk;
  for (let after = -1n; ; ) {
    const holders = await readHolders(reader, after);
    let due: HolderSpan[] = [];
    for (const { holder_id: holder, sealed, counted, last } of holders) {
      const known = seen.get(holder) ?? (whole ? 0n : undefined);
      checkHolder(report, holder, { sealed, counted, last, known });
      if (last > (known ?? sealed)) due.push({ holder, after: known ?? sealed, upTo: MAX_ID });
    }
    while (due.length > 0) {
      const rows = await readLines(reader, due, PIECE);
      yield { lines: rows.map(({ line }) => line) };
      counts.unsealed += rows.length;
      const byHolder = Map.groupBy(rows, ({ holder_id }) => holder_id);
      const end = rows.length < PIECE ? undefined : rows.at(-1);
      for (const each of due) {
        const found = byHolder.get(each.holder) ?? [];
        const last = found.at(-1)?.position ?? each.after;
        reportGaps(report, each.holder, each.after, last, found);
      }
      due = end
        ? due
            .filter(({ holder }) => holder >= end.holder_id)
            .map((each) => (each.holder === end.holder_id ? { ...each, after: end.position } : each))
        : [];
    }
    after = holders.at(-1)?.holder_id ?? after;
    if (holders.length < HOLDERS_READ) return;
  }
}

// Those that have transfers, or had: jumps from holder to holder along the index of positions.
const HOLDERS = `
  with recursive posted as (
    (select holder_id from ledger_transfers where holder_id > $1 and position is not null order by holder_id limit 1)
    union all
    select (select t.holder_id from ledger_transfers t where t.holder_id > posted.holder_id and t.position is not null
            order by t.holder_id limit 1)
    from posted where posted.holder_id is not null
  ), listed as (
    (select holder_id from posted where holder_id is not null limit ${HOLDERS_READ})
    union
    (select holder_id from ledger_positions where holder_id > $1 order by holder_id limit ${HOLDERS_READ})
  )
  select holder_id, coalesce(s.position, 0) as sealed, coalesce(p.position, 0) as counted,
    coalesce((select t.position from ledger_transfers t where t.holder_id = listed.holder_id and t.position is not null
              order by t.position desc limit 1), 0) as last
  from listed left join ledger_sealed s using (holder_id) left join ledger_positions p using (holder_id)
  order by holder_id limit ${HOLDERS_READ}`;
/** The same by reading the index of positions on every server. */
const HOLDERS_ON_SERVERS = `
  select holder_id, coalesce(s.position, 0) as sealed, coalesce(p.position, 0) as counted, coalesce(t.position, 0) as last
  from (
    select holder_id, max(position) as position from ledger_transfers where holder_id > $1 and position is not null group by holder_id
  ) t
  full join (select holder_id, position from ledger_positions where holder_id > $1) p using (holder_id)
  left join ledger_sealed s using (holder_id)
  order by holder_id limit ${HOLDERS_READ}`;

function readHolders(reader: Reader, after: bigint): Promise<HolderRow[]> {
  return reader.query<HolderRow>(reader.isDistributed?.() ? HOLDERS_ON_SERVERS : HOLDERS, [after]);
}

function checkHolder(
  report: ReportDifference,
  holder: bigint,
  { sealed, counted, last, known }: { sealed: bigint; counted: bigint; last: bigint; known: bigint | undefined },
): void {
  if (last !== counted)
    report({
      what: 'transfer',
      where: `holder ${holder}`,
      expected: `${counted} transfers`,
      found: `${last}`,
      sentence:
        `Holder ${holder} has counted ${counted} transfers, but the last one is at position ${last}: ` +
        'transfers at the end were removed or added.',
    });
  if (known !== undefined && known !== sealed)
    report({
      what: 'block',
      where: `holder ${holder}`,
      expected: `sealed up to position ${known}`,
      found: `${sealed}`,
      sentence: `The blocks cover holder ${holder} up to position ${known}, but the next block would begin after ${sealed}.`,
    });
}

/** Rows that no block can ever cover: post_transfers gives every transfer a position. */
async function* findStrays({ reader, report }: Walk, past: Head, idsAfter: bigint | null): AsyncGenerator<ChainStep> {
  const last = await lastTransferId(reader);
  for (let from = idsAfter ?? -MAX_ID; from <= last; ) {
    const to = from < 0n ? STRAY_RANGE : from + STRAY_RANGE;
    const upTo = to > last ? MAX_ID : to;
    const rows = await reader.query<{ id: bigint; line: string }>(
      `select id, ${TRANSFER_LINE} as line from ledger_transfers
       where id > $1 and id <= $2 and (position < 1 or (position is null and id > $3)) order by id`,
      // Without a past chain every row must have a position.
      [from, upTo, past.number === 0n ? -MAX_ID : past.last_id],
    );
    yield { lines: rows.map(({ line }) => line) };
    for (const { id } of rows)
      report({
        what: 'transfer',
        where: `transfer ${id}`,
        expected: 'a position',
        found: 'none',
        sentence: `Transfer ${id} has no position among those of its holder: it was not posted by the gateway.`,
      });
    from = upTo;
  }
}
