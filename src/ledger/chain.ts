// The hash chain over the transfers. A background pass seals them into blocks, each holding the hash of the one
// before; nothing waits for it. Whoever edits, removes or slips in a transfer later would have to rewrite
// every block after it; walking the chain beside the transfers finds a block that does not fit.

import { createHash, type Hash } from 'node:crypto';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { perProcess } from '../platform/memory.ts';
import type { ReportDifference } from './differences.ts';

/** Transfers in a full block. */
const BLOCK_TRANSFERS = 1_000;
/** A block that is not full is sealed once its oldest transfer has waited this long, so quiet days make few blocks. */
const SEAL_AFTER_MS = 5_000;

/** Ids that are searched first for the transfers of a block. */
const FIRST_RANGE = 4_000n;

/** Blocks read at a time while walking the chain. */
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

/** The newest id that was drawn, whether or not its transaction has committed. Asking the table would read all of it. */
export async function lastTransferId(reader: Reader): Promise<bigint> {
  const [row] = await reader.query<{ id: bigint | null }>(
    `select pg_sequence_last_value(pg_get_serial_sequence('ledger_transfers', 'id')::regclass) as id`,
  );
  return row?.id ?? 0n;
}

/**
 * Seals at most one block and answers how many transfers it holds. With `partial` also one that is neither full nor
 * old. Two processes that seal at once make the same block, and the database keeps one of them.
 */
export async function extendChain(ctx: Context, options: { partial?: boolean } = {}): Promise<number> {
  const certain = await moveHorizon(ctx);
  const [newest] = await ctx.db.query<{ last_id: bigint }>(
    'select last_id from ledger_blocks order by number desc limit 1',
  );
  const after = newest?.last_id ?? 0n;
  // Ids are looked up by ranges and have gaps: a range that holds too few transfers is doubled.
  for (let range = FIRST_RANGE; after < certain; range *= 2n) {
    const upTo = after + range < certain ? after + range : certain;
    const sealed = await sealBlock(ctx, upTo, options.partial ?? false);
    if (sealed > 0 || upTo === certain) return sealed;
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

type Block = {
  number: bigint;
  after_id: bigint;
  last_id: bigint;
  transfers: number;
  previous_hash: Buffer;
  hash: Buffer;
};

/** Walks the blocks beside the transfers, which must be added in the order of their ids. */
export async function openChain(reader: Reader, known: KnownBlock | undefined, report: ReportDifference) {
  const blocks = readBlocks(reader);
  let previous: Block | null = null;
  let head: KnownBlock | null = null;
  let count = 0;
  let unsealed = 0;
  let found = 0;
  let block = await next();
  let digest: Hash = startDigest();

  async function next(): Promise<Block | null> {
    const result = await blocks.next();
    return result.done ? null : result.value;
  }

  function startDigest(): Hash {
    found = 0;
    return createHash('sha256').update(previous?.hash ?? GENESIS);
  }

  function complain(at: Block, expected: string, got: string, sentence: string): void {
    const where = `block ${at.number}`;
    const place = `Block ${at.number} (transfers after ${at.after_id} up to ${at.last_id})`;
    report({ what: 'block', where, expected, found: got, sentence: `${place} ${sentence}` });
  }

  function checkLink(at: Block): void {
    const number = (previous?.number ?? 0n) + 1n;
    if (at.number !== number)
      complain(
        at,
        `block ${number}`,
        `block ${at.number}`,
        `follows block ${number - 1n}: blocks between were removed.`,
      );
    else if (at.after_id !== (previous?.last_id ?? 0n))
      complain(
        at,
        `after ${previous?.last_id ?? 0n}`,
        `after ${at.after_id}`,
        'does not begin where the block before ends.',
      );
    if (!at.previous_hash.equals(previous?.hash ?? GENESIS))
      complain(
        at,
        (previous?.hash ?? GENESIS).toString('hex'),
        at.previous_hash.toString('hex'),
        'names another hash as that of the block before: that block was edited.',
      );
  }

  function checkContent(at: Block): void {
    const hash = digest.digest();
    if (found !== at.transfers)
      complain(
        at,
        `${at.transfers} transfers`,
        `${found} transfers`,
        `was sealed over ${at.transfers} transfers; ${found} are there.`,
      );
    else if (!hash.equals(at.hash))
      complain(
        at,
        at.hash.toString('hex'),
        hash.toString('hex'),
        'does not have the hash it was sealed with: a transfer in it was edited.',
      );
    if (known?.number === at.number && known.hash !== at.hash.toString('hex'))
      complain(
        at,
        known.hash,
        at.hash.toString('hex'),
        'is not the block that was noted down: the past was rewritten.',
      );
  }

  /** Closes the blocks that end before this id. */
  async function closeBefore(id: bigint | null): Promise<void> {
    while (block && (id === null || id > block.last_id)) {
      checkLink(block);
      checkContent(block);
      count++;
      head = { number: block.number, hash: block.hash.toString('hex') };
      previous = block;
      block = await next();
      digest = startDigest();
    }
  }

  return {
    async add(id: bigint, line: string): Promise<void> {
      if (block && id > block.last_id) await closeBefore(id);
      if (!block) {
        unsealed++;
        return;
      }
      digest.update(found === 0 ? line : `\n${line}`);
      found++;
    },
    async finish() {
      await closeBefore(null);
      if (known && known.number > (head?.number ?? 0n))
        report({
          what: 'block',
          where: `block ${known.number}`,
          expected: known.hash,
          found: 'no such block',
          sentence: `Block ${known.number} was noted down and is not there: the end of the chain was removed.`,
        });
      return { blocks: count, unsealed, head };
    },
  };
}

async function* readBlocks(reader: Reader): AsyncGenerator<Block> {
  let after = 0n;
  for (;;) {
    const rows = await reader.query<Block>(
      `select number, after_id, last_id, transfers, previous_hash, hash from ledger_blocks
       where number > $1 order by number limit $2`,
      [after, BLOCKS_READ],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < BLOCKS_READ) return;
    after = last.number;
  }
}
