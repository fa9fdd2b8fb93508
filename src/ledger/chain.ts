// The hash chain over the transfers. Holders are divided into partitions that never change. A background job seals the
// transfers of each partition into blocks, each with the hash of the block before, and joins the newest block of every
// partition in a head, which has the hash of the head before. To edit, remove or insert a transfer later one would have to
// rewrite every block of its partition and every head after it; a head that is kept elsewhere shows that.
//
// A block covers transfers by the positions that post_transfers counts for each holder. The row of a position is locked until
// the posting commits: who sees a position sees every transfer up to it. No number of a server is relied on, and several
// processes can seal at once: of two that make the same block, the database keeps one.

import { createHash } from 'node:crypto';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { perProcess } from '../platform/memory.ts';
import { type HashedLine, type HolderSpan, readLines } from './transfer-lines.ts';

/** Of a holder: its id modulo this. It can never change: sealed blocks depend on it. */
export const PARTITIONS = 16;
/** Transfers in a full block. */
const BLOCK_TRANSFERS = 1_000;
/** A block that is not full is sealed this long after the one before it, so few transfers make few blocks. */
const SEAL_AFTER_MS = 5_000;

/** The hash before everything. */
const GENESIS = Buffer.alloc(32);

/** A head, or a block of the past chain, as it is noted down elsewhere; the hash in hexadecimal. */
export type KnownHead = { readonly number: bigint; readonly hash: string };

export type Head = {
  readonly number: bigint;
  /** The newest block of each partition, 0: none. Empty: a block of the past chain. */
  readonly blocks: readonly bigint[];
  /** The greatest id among all transfers that it covers: on one server, what is posted later has a greater one. */
  readonly last_id: bigint;
  readonly hash: Buffer;
  readonly sealed_at: Date;
};

/** The newest transfer id that was drawn, whether or not its transaction has committed. `max(id)` would read the whole table. */
export async function lastTransferId(reader: Reader): Promise<bigint> {
  const [row] = await reader.query<{ id: bigint | null }>(
    `select pg_sequence_last_value(pg_get_serial_sequence('ledger_transfers', 'id')::regclass) as id`,
  );
  return row?.id ?? 0n;
}

export function formatHead({ number, hash }: Pick<Head, 'number' | 'hash'>): string {
  return `${number}:${hash.toString('hex')}`;
}

/**
 * Seals at most one block in each partition, and a head if there is a new block. Returns how many transfers were sealed. With
 * `partial` blocks that are not full need not wait for their time.
 */
export async function extendChain(ctx: Context, options: { partial?: boolean } = {}): Promise<number> {
  // Read before what waits: if somebody seals in between, our block has the number of theirs, and is not kept.
  const newest = await newestBlocks(ctx.db);
  let sealed = 0;
  for (const [partition, waiting] of await listWaiting(ctx.db)) {
    const block = newest[partition];
    const isFull = lengthOf(waiting) >= BLOCK_TRANSFERS;
    if (block && (options.partial || isFull || isOld(ctx, block.sealed_at)))
      sealed += await sealBlock(ctx, partition, block, waiting);
  }
  newestHeadOf(ctx).head = await joinPartitions(ctx);
  return sealed;
}

/** Also if it seems to come from the future: then it says nothing about how long transfers have waited. */
function isOld({ clock }: Context, sealedAt: Date | null): boolean {
  return sealedAt === null || Math.abs(clock.millis() - sealedAt.getTime()) >= SEAL_AFTER_MS;
}

const newestHeadOf = perProcess((): { head: Head | null } => ({ head: null }));

/** The newest head that this process has seen; null: none yet. It costs nothing to ask. */
export function lastSeenHead(ctx: Context): Head | null {
  return newestHeadOf(ctx).head;
}

/**
 * What is to be sealed, by partition, in another order each time: processes that seal at once begin with different ones. One list for
 * all of them, because it reads the positions of all holders, and while a snapshot is held open also their old versions.
 */
async function listWaiting(reader: Reader): Promise<[partition: number, spans: HolderSpan[]][]> {
  const spans = await reader.query<HolderSpan>(
    `select p.holder_id as holder, coalesce(s.position, 0) as after, p.position as "upTo"
     from ledger_positions p left join ledger_sealed s using (holder_id)
     where p.position > coalesce(s.position, 0)
     order by p.holder_id limit $1`,
    [PARTITIONS * BLOCK_TRANSFERS],
  );
  const first = Math.floor(Math.random() * PARTITIONS);
  const turnOf = (partition: number) => (partition + first) % PARTITIONS;
  return [...Map.groupBy(spans, ({ holder }) => Number(holder % BigInt(PARTITIONS)))].sort(
    ([left], [right]) => turnOf(left) - turnOf(right),
  );
}

/** How many transfers they are. */
function lengthOf(spans: readonly HolderSpan[]): number {
  return spans.reduce((sum, { after, upTo }) => sum + Number(upTo - after), 0);
}

async function sealBlock(
  { db, clock }: Context,
  partition: number,
  newest: NewestBlock,
  waiting: readonly HolderSpan[],
): Promise<number> {
  const due = waiting.slice(0, BLOCK_TRANSFERS);
  const rows = await readLines(db, due, BLOCK_TRANSFERS);
  if (rows.length === 0) return 0;
  const parts = partsOf(due, rows);
  const previousHash = newest.hash ?? (await pastEnd(db)).hash;
  const hash = hashOf(
    previousHash,
    rows.map(({ line }) => line),
  );
  const lastId = greatestOf(
    0n,
    rows.map(({ id }) => id),
  );
  return await db.transaction(async (tx) => {
    const [block] = await tx.query<{ transfers: number }>(
      `insert into ledger_partition_blocks (partition, number, last_id, transfers, holders, after_positions, positions,
                                            previous_hash, hash, sealed_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       on conflict do nothing returning transfers`,
      [
        partition,
        newest.number + 1n,
        lastId,
        rows.length,
        parts.map((part) => part.holderId),
        parts.map((part) => part.after),
        parts.map((part) => part.position),
        previousHash,
        hash,
        clock.now(),
      ],
    );
    if (!block) return 0;
    await moveSealed(tx, parts);
    return block.transfers;
  });
}

/** Each is changed by an update: to find it by the conflict of an insert would write a lock of its row as well. */
async function moveSealed(tx: Tx, parts: readonly BlockPart[]): Promise<void> {
  const moved = await tx.query<{ holder_id: bigint }>(
    `update ledger_sealed s set position = part.position
     from unnest($1::bigint[], $2::bigint[]) as part (holder_id, position)
     where s.holder_id = part.holder_id returning s.holder_id`,
    [parts.map((part) => part.holderId), parts.map((part) => part.position)],
  );
  if (moved.length === parts.length) return;
  const known = new Set(moved.map(({ holder_id }) => holder_id));
  const first = parts.filter(({ holderId }) => !known.has(holderId));
  await tx.query('insert into ledger_sealed (holder_id, position) select * from unnest($1::bigint[], $2::bigint[])', [
    first.map((part) => part.holderId),
    first.map((part) => part.position),
  ]);
}

function greatestOf(first: bigint, others: readonly bigint[]): bigint {
  let greatest = first;
  for (const each of others) if (each > greatest) greatest = each;
  return greatest;
}

/** The transfers of one holder in a block. */
export type BlockPart = { readonly holderId: bigint; readonly after: bigint; readonly position: bigint };

function partsOf(due: readonly HolderSpan[], rows: readonly HashedLine[]): BlockPart[] {
  const last = new Map(rows.map(({ holder_id, position }) => [holder_id, position]));
  return due.flatMap(({ holder, after }) => {
    const position = last.get(holder);
    return position === undefined ? [] : [{ holderId: holder, after, position }];
  });
}

export function hashOf(previous: Buffer, lines: readonly string[]): Buffer {
  return createHash('sha256').update(previous).update(lines.join('\n')).digest();
}

/** The last block of the chain from before there were partitions. All partitions, and the heads, begin with its hash. */
export async function pastEnd(reader: Reader): Promise<Head> {
  const block = await selectHead(reader, `${PAST_BLOCKS} order by number desc limit 1`);
  return block ?? { number: 0n, blocks: [], last_id: 0n, hash: GENESIS, sealed_at: new Date(0) };
}

const PAST_BLOCKS = `select number, '{}'::bigint[] as blocks, last_id, hash, sealed_at from ledger_blocks`;
const HEADS = 'select number, blocks, last_id, hash, sealed_at from ledger_heads';

/** Makes a head if a partition has a newer block than the newest one says, and returns the newest. */
async function joinPartitions(ctx: Context): Promise<Head | null> {
  const { db, clock } = ctx;
  const previous = await newestHead(db);
  const blocks = await newestBlocks(db);
  if (blocks.every(({ number }, partition) => number <= (previous?.blocks[partition] ?? 0n))) return previous;
  const past = await pastEnd(db);
  const before = previous ?? past;
  const head = {
    number: before.number + 1n,
    blocks: blocks.map(({ number }) => number),
    last_id: greatestOf(
      before.last_id,
      blocks.map(({ last_id }) => last_id),
    ),
    hash: headHash(
      before.hash,
      blocks.map(({ hash }) => hash ?? past.hash),
    ),
    sealed_at: clock.now(),
  };
  const added = await db.query(
    `insert into ledger_heads (number, blocks, last_id, previous_hash, hash, sealed_at) values ($1, $2, $3, $4, $5, $6)
     on conflict do nothing returning number`,
    [head.number, head.blocks, head.last_id, before.hash, head.hash, head.sealed_at],
  );
  return added.length > 0 ? head : await newestHead(db);
}

/** SHA-256 over the hash of the head before and those of the newest block of each partition, in the order of the partitions. */
export function headHash(previous: Buffer, blocks: readonly Buffer[]): Buffer {
  return createHash('sha256')
    .update(Buffer.concat([previous, ...blocks]))
    .digest();
}

type NewestBlock = { number: bigint; last_id: bigint; hash: Buffer | null; sealed_at: Date | null };

/** By partition; hash and date null: it has no block yet. */
export async function newestBlocks(reader: Reader): Promise<NewestBlock[]> {
  return await reader.query(
    `select coalesce(number, 0) as number, coalesce(last_id, 0) as last_id, hash, sealed_at
     from generate_series(0, ${PARTITIONS - 1}) as each (partition)
     left join lateral (
       select number, last_id, hash, sealed_at from ledger_partition_blocks b where b.partition = each.partition
       order by number desc limit 1
     ) as block on true
     order by each.partition`,
  );
}

/** The newest head, or else the newest block of the past chain. Null: nothing was sealed. */
export async function newestHead(reader: Reader): Promise<Head | null> {
  const head = await selectHead(reader, `${HEADS} order by number desc limit 1`);
  if (head) return head;
  const past = await pastEnd(reader);
  return past.number === 0n ? null : past;
}

/** The head, or the block of the past chain, with this number. */
export function findHead(reader: Reader, number: bigint): Promise<Head | null> {
  return selectHead(reader, `${HEADS} where number = $1 union all ${PAST_BLOCKS} where number = $1`, [number]);
}

/** The newest one that was sealed up to a moment: every transfer posted after that moment is after it. */
export async function lastHeadAt(reader: Reader, moment: Date): Promise<Head | null> {
  const upTo = 'where sealed_at <= $1 order by number desc limit 1';
  return (
    (await selectHead(reader, `${HEADS} ${upTo}`, [moment])) ?? selectHead(reader, `${PAST_BLOCKS} ${upTo}`, [moment])
  );
}

async function selectHead(reader: Reader, sql: string, values: unknown[] = []): Promise<Head | null> {
  const [row] = await reader.query<Omit<Head, 'blocks'> & { blocks: string[] }>(sql, values);
  return row ? { ...row, blocks: row.blocks.map(BigInt) } : null;
}
