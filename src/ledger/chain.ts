// The hash chain over the transfers. A background job seals them into blocks, and each block holds the hash of the one
// before. To edit, remove or insert a transfer later one would have to rewrite every block after it; comparing the chain
// with the transfers finds a block that does not match.

import { createHash, type Hash } from 'node:crypto';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { perProcess } from '../platform/memory.ts';
import type { ReportDifference } from './differences.ts';

/** Transfers in a full block. */
const BLOCK_TRANSFERS = 1_000;
/** A block that is not full is sealed when its oldest transfer is this old, so few transfers make few blocks. */
const SEAL_AFTER_MS = 5_000;

/** Ids that are searched first for the transfers of a block. */
const FIRST_RANGE = 4_000n;

/** Blocks read at a time while the chain is compared. */
const BLOCKS_READ = 1_000;

/** The hash before the first block. */
const GENESIS = Buffer.alloc(32);

/**
 * A transfer as the text that is hashed. The hash of a block is SHA-256 over the 32 bytes of the previous hash and
 * its lines in the order of id, joined by line feeds. This must never change: sealed blocks depend on it.
 */
export const TRANSFER_LINE = `concat_ws('|', id, batch, holder_id, debit_account, credit_account, amount, currency, kind,
  transaction_id, (extract(epoch from posted_at) * 1000000)::bigint, debit_balance, credit_balance)`;

/**
 * Ids are drawn before commit, so a lower id can become visible after a higher one; sealing past it would leave it out
 * for ever. `waiting` is a highest id together with the first database transaction that began after it was seen:
 * when every older transaction has ended, no id up to there can appear any more, and it becomes `certain`.
 */
type Horizon = { certain: bigint; waiting: { lastId: bigint; endsBefore: bigint } | null };
const horizonOf = perProcess((): Horizon => ({ certain: 0n, waiting: null }));

async function moveHorizon(ctx: Context): Promise<bigint> {
  const { db } = ctx;
  const horizon = horizonOf(ctx);
  if (!horizon.waiting) {
    // Two statements on purpose: the snapshot must be younger than the id that was seen.
    const lastId = await lastTransferId(db);
    const [snapshot] = await db.query<{ xmax: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as xmax');
    horizon.waiting = { lastId, endsBefore: BigInt(snapshot?.xmax ?? 0) };
  }
  const [snapshot] = await db.query<{ xmin: string }>('select pg_snapshot_xmin(pg_current_snapshot())::text as xmin');
  if (horizon.waiting && BigInt(snapshot?.xmin ?? 0) >= horizon.waiting.endsBefore) {
    horizon.certain = horizon.waiting.lastId;
    horizon.waiting = null;
  }
  return horizon.certain;
}

/** The newest id that was drawn, whether or not its transaction has committed. `max(id)` would read the whole table. */
export async function lastTransferId(reader: Reader): Promise<bigint> {
  const [row] = await reader.query<{ id: bigint | null }>(
    `select pg_sequence_last_value(pg_get_serial_sequence('ledger_transfers', 'id')::regclass) as id`,
  );
  return row?.id ?? 0n;
}

/**
 * Seals at most one block and returns how many transfers it holds. With `partial` a block that is neither full nor old is
 * sealed too. Two processes that seal at once make the same block, and the database keeps one of them.
 */
export async function extendChain(ctx: Context, options: { partial?: boolean } = {}): Promise<number> {
  const certain = await moveHorizon(ctx);
  const [newest] = await ctx.db.query<{ last_id: bigint }>(
    'select last_id from ledger_blocks order by number desc limit 1',
  );
  const after = newest?.last_id ?? 0n;
  // Ids are looked up by ranges and have gaps: a range that holds too few transfers is doubled.
  for (let range = FIRST_RANGE; after < certain; range *= 2n) {
    const isLast = after + range >= certain;
    const sealed = await sealBlock(ctx, isLast ? certain : after + range, options.partial ?? false);
    if (sealed > 0 || isLast) return sealed;
  }
  return 0;
}

async function sealBlock(ctx: Context, upTo: bigint, partial: boolean): Promise<number> {
  const [block] = await ctx.db.query<{ transfers: number }>(
    `with newest as (
       select coalesce(max(number), 0) as number, coalesce(max(last_id), 0) as last_id,
         coalesce((select hash from ledger_blocks order by number desc limit 1), $2::bytea) as hash
       from (select number, last_id from ledger_blocks order by number desc limit 1) as block
     ), content as (
       select id, posted_at, ${TRANSFER_LINE} as line from ledger_transfers
       where id > (select last_id from newest) and id <= $1
       order by id limit $3
     )
     insert into ledger_blocks (number, after_id, last_id, transfers, previous_hash, hash, sealed_at)
     select (select number from newest) + 1, (select last_id from newest), max(id), count(*),
       (select hash from newest),
       sha256((select hash from newest) || convert_to(string_agg(line, E'\\n' order by id), 'UTF8')), $4
     from content
     having count(*) = $3 or (count(*) > 0 and ($6 or min(posted_at) <= $5))
     on conflict do nothing
     returning transfers`,
    [upTo, GENESIS, BLOCK_TRANSFERS, ctx.clock.now(), new Date(ctx.clock.millis() - SEAL_AFTER_MS), partial],
  );
  return block?.transfers ?? 0;
}

/** A block as it is noted down elsewhere; the hash in hexadecimal. */
export type KnownBlock = { readonly number: bigint; readonly hash: string };

export type Block = {
  number: bigint;
  after_id: bigint;
  last_id: bigint;
  transfers: number;
  previous_hash: Buffer;
  hash: Buffer;
};

type ChainSummary = { blocks: number; unsealed: number; head: KnownBlock | null };

/** Compares the blocks after `start` with their transfers, which must be added in the order of their ids. */
export async function openChain(
  reader: Reader,
  start: Block | null,
  known: KnownBlock | undefined,
  report: ReportDifference,
) {
  const blocks = readBlocks(reader, start?.number ?? 0n);
  let previous = start;
  let blockCount = 0;
  let unsealed = 0;
  /** Transfers added to the current block so far, and their hash. */
  let found = 0;
  let digest: Hash = createHash('sha256').update(start?.hash ?? GENESIS);
  let block = await next();
  if (known && start && known.number <= start.number) await checkKnown(reader, known, report);

  async function next(): Promise<Block | null> {
    const result = await blocks.next();
    return result.done ? null : result.value;
  }

  /** Closes the blocks that end before this id; null: all. */
  async function closeBefore(id: bigint | null): Promise<void> {
    while (block && (id === null || id > block.last_id)) {
      checkLink(block, previous, report);
      checkContent(block, { transfers: found, hash: digest.digest() }, known, report);
      blockCount++;
      previous = block;
      block = await next();
      found = 0;
      digest = createHash('sha256').update(previous.hash);
    }
  }

  return {
    /** Closes the blocks that end before this transfer. Returns the newest one if there was any. */
    async close(id: bigint): Promise<Block | null> {
      if (!block || id <= block.last_id) return null;
      await closeBefore(id);
      return previous;
    },
    add(line: string): void {
      if (!block) {
        unsealed++;
        return;
      }
      digest.update(found === 0 ? line : `\n${line}`);
      found++;
    },
    async finish(): Promise<ChainSummary> {
      await closeBefore(null);
      const head = previous ? { number: previous.number, hash: previous.hash.toString('hex') } : null;
      if (known && known.number > (head?.number ?? 0n)) reportMissing(known, report);
      return { blocks: blockCount, unsealed, head };
    },
  };
}

function reportBlock(report: ReportDifference, block: Block, expected: string, found: string, sentence: string): void {
  const place = `Block ${block.number} (transfers after ${block.after_id} up to ${block.last_id})`;
  report({ what: 'block', where: `block ${block.number}`, expected, found, sentence: `${place} ${sentence}` });
}

function reportMissing({ number, hash }: KnownBlock, report: ReportDifference): void {
  report({
    what: 'block',
    where: `block ${number}`,
    expected: hash,
    found: 'no such block',
    sentence: `Block ${number} was noted down and is not there: the end of the chain was removed.`,
  });
}

/** A block continues the block before it: its number, its first id and the hash it names. */
function checkLink(block: Block, previous: Block | null, report: ReportDifference): void {
  const number = (previous?.number ?? 0n) + 1n;
  const afterId = previous?.last_id ?? 0n;
  const hash = previous?.hash ?? GENESIS;
  if (block.number !== number) {
    const sentence = `follows block ${number - 1n}: blocks between were removed.`;
    reportBlock(report, block, `block ${number}`, `block ${block.number}`, sentence);
  } else if (block.after_id !== afterId) {
    const sentence = 'does not begin where the block before ends.';
    reportBlock(report, block, `after ${afterId}`, `after ${block.after_id}`, sentence);
  }
  if (!block.previous_hash.equals(hash)) {
    const sentence = 'names another hash as that of the block before: that block was edited.';
    reportBlock(report, block, hash.toString('hex'), block.previous_hash.toString('hex'), sentence);
  }
}

/** A block holds the transfers it was sealed over, and is the block that was noted down under its number. */
function checkContent(
  block: Block,
  found: { transfers: number; hash: Buffer },
  known: KnownBlock | undefined,
  report: ReportDifference,
): void {
  const sealed = block.hash.toString('hex');
  if (found.transfers !== block.transfers) {
    const sentence = `was sealed over ${block.transfers} transfers; ${found.transfers} are there.`;
    reportBlock(report, block, `${block.transfers} transfers`, `${found.transfers} transfers`, sentence);
  } else if (!found.hash.equals(block.hash)) {
    const sentence = 'does not have the hash it was sealed with: a transfer in it was edited.';
    reportBlock(report, block, sealed, found.hash.toString('hex'), sentence);
  }
  if (known?.number === block.number && known.hash !== sealed) {
    const sentence = 'is not the block that was noted down: the past was rewritten.';
    reportBlock(report, block, known.hash, sealed, sentence);
  }
}

/** The block that was noted down is before the first one compared: its hash alone is compared. */
async function checkKnown(reader: Reader, known: KnownBlock, report: ReportDifference): Promise<void> {
  const block = await findBlock(reader, known.number);
  if (!block) reportMissing(known, report);
  else checkContent(block, { transfers: block.transfers, hash: block.hash }, known, report);
}

const BLOCK_COLUMNS = 'number, after_id, last_id, transfers, previous_hash, hash';

export async function findBlock(reader: Reader, number: bigint): Promise<Block | null> {
  const [block] = await reader.query<Block>(`select ${BLOCK_COLUMNS} from ledger_blocks where number = $1`, [number]);
  return block ?? null;
}

/** The newest block that was sealed up to a moment: every transfer posted after that moment is after it. */
export async function lastBlockAt(reader: Reader, moment: Date): Promise<Block | null> {
  const [block] = await reader.query<Block>(
    `select ${BLOCK_COLUMNS} from ledger_blocks where sealed_at <= $1 order by number desc limit 1`,
    [moment],
  );
  return block ?? null;
}

async function* readBlocks(reader: Reader, afterNumber: bigint): AsyncGenerator<Block> {
  let after = afterNumber;
  for (;;) {
    const rows = await reader.query<Block>(
      `select ${BLOCK_COLUMNS} from ledger_blocks where number > $1 order by number limit $2`,
      [after, BLOCKS_READ],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < BLOCKS_READ) return;
    after = last.number;
  }
}
