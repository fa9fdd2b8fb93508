// Takes the newest head out of the database: to a file in DATA_DIR at once, to the configured places from time to time, and
// compares. At the start with every place that can be read, and then with what this process has seen itself: a standby that
// took over without the newest transactions is noticed within seconds.

import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import type { Job } from '../platform/jobs.ts';
import type { Outbound } from '../platform/outbound.ts';
import { type Head, newestHead } from './chain.ts';
import { type LostHead, lostSentence, noticeLostHeads, readLostHead } from './lost-history.ts';
import {
  appendHead,
  createHeadSigner,
  type HeadSigner,
  keptFile,
  listOutsidePlaces,
  type OutsideHead,
  type OutsidePlace,
  writeKept,
} from './outside-heads.ts';

const IDLE_MS = { shortest: 1_000, longest: 5_000 };
/** How often a head goes to a file or an address, if there is a new one. After a failure: when it is tried again. */
const SHIP_EVERY_MS = 60_000;
const MAIL_EVERY_MS = 24 * 3_600_000;
/** The newest lines of a place that a start compares; ledger verify compares all. */
const LINES_COMPARED = 20;
const MAX_ERROR_CHARACTERS = 300;

export type HeadKeeperOptions = {
  outbound: Pick<Outbound, 'request'>;
  /** Puts a mail into the queue, in the transaction that notes it. Null: there is no mail server. */
  queueMail: ((tx: Tx, line: string) => Promise<void>) | null;
  /** Writes the audit row, in the transaction that notes what is lost. */
  recordLost: (tx: Tx, lost: LostHead) => Promise<void>;
};

export interface HeadKeeper extends Job {
  /** Compares every place outside with the database. To be called before anything is paid out. */
  compare(): Promise<void>;
}

export function createHeadKeeper(ctx: Context, options: HeadKeeperOptions): HeadKeeper {
  let signer: HeadSigner | null = null;
  let seen: Head | null = null;
  let hasCompared = false;

  async function compare(): Promise<void> {
    signer ??= await createHeadSigner(ctx);
    for (const place of await listOutsidePlaces(ctx, options.outbound)) {
      // A place that cannot be read must not keep the others from being compared.
      const lines = await newestLines(place).catch((error: unknown) => {
        ctx.log.warn({ place: place.name, err: error }, 'the ledger heads cannot be read');
        return [];
      });
      await notice(ctx, options, place.name, signedHeads(signer, lines));
    }
    hasCompared = true;
  }

  return {
    name: 'ledger_heads',
    idleMs: IDLE_MS,
    compare,
    async pass() {
      if (!hasCompared) await compare();
      signer ??= await createHeadSigner(ctx);
      const newest = await newestHead(ctx.db);
      if (seen && !newest?.hash.equals(seen.hash)) {
        const { number, hash, sealed_at: sealedAt } = seen;
        await notice(ctx, options, 'a running process', [{ number, hash: hash.toString('hex'), sealedAt }]);
      }
      ctx.metrics.ledgerHistoryLost.set((await readLostHead(ctx.db)) ? 1 : 0);
      if (!newest) return 0;
      if (!seen?.hash.equals(newest.hash)) await keep(ctx, signer.line(newest));
      seen = newest;
      return await ship(ctx, options, newest, signer.line(newest));
    },
  };
}

async function newestLines({ lines }: OutsidePlace): Promise<string[]> {
  const newest: string[] = [];
  for await (const line of lines()) {
    newest.push(line);
    if (newest.length > LINES_COMPARED) newest.shift();
  }
  return newest;
}

function signedHeads(signer: HeadSigner, lines: readonly string[]): OutsideHead[] {
  return lines.flatMap((line) => {
    const found = signer.read(line);
    return found?.signed ? [found.head] : [];
  });
}

/** DATA_DIR may not be writable where the database is another machine's. */
async function keep(ctx: Context, line: string): Promise<void> {
  try {
    await writeKept(await keptFile(ctx), line);
  } catch (error) {
    ctx.metrics.headsNotShipped.inc({ place: 'data_dir' });
    ctx.log.warn({ err: error }, 'the ledger head was not kept in DATA_DIR');
  }
}

async function notice(
  ctx: Context,
  options: HeadKeeperOptions,
  source: string,
  heads: readonly OutsideHead[],
): Promise<void> {
  if (heads.length === 0) return;
  await ctx.db.transaction(async (tx) => {
    for (const lost of await noticeLostHeads(tx, source, heads, ctx.clock.now())) {
      await options.recordLost(tx, lost);
      ctx.log.error({ head: String(lost.number), source }, lostSentence(lost));
    }
  });
}

/** `send` leaves the database and is not part of a transaction; `write` is. */
type Place = {
  readonly name: string;
  readonly everyMs: number;
  send?(line: string): Promise<void>;
  write?(tx: Tx, line: string): Promise<void>;
};

function placesOf({ config }: Context, { outbound, queueMail }: HeadKeeperOptions): Place[] {
  const { ledgerHeadFile: file, ledgerHeadUrl: url, ledgerHeadMail: mail } = config;
  return [
    ...(file ? [{ name: 'file', everyMs: SHIP_EVERY_MS, send: (line: string) => appendHead(file, line) }] : []),
    ...(url ? [{ name: 'url', everyMs: SHIP_EVERY_MS, send: (line: string) => postHead(outbound, url, line) }] : []),
    ...(mail && queueMail ? [{ name: 'mail', everyMs: MAIL_EVERY_MS, write: queueMail }] : []),
  ];
}

async function postHead(outbound: Pick<Outbound, 'request'>, url: string, line: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await outbound.request({ url, method: 'POST', headers, body: `${line}\n` });
  if (answer.error !== null) throw new Error(answer.reason);
  if (answer.status < 200 || answer.status > 299) throw new Error(`The address answered ${answer.status}.`);
}

/** Ships the head to each place whose turn it is. Of several processes, one takes the turn. */
async function ship(ctx: Context, options: HeadKeeperOptions, head: Head, line: string): Promise<number> {
  let shipped = 0;
  for (const place of placesOf(ctx, options)) {
    const at = ctx.clock.now();
    const [turn] = await ctx.db.query(
      `insert into ledger_shipped as s (place, tried_at) values ($1, $2)
       on conflict (place) do update set tried_at = excluded.tried_at
       where s.tried_at <= $3 and s.number is distinct from $4 returning place`,
      [place.name, at, new Date(at.getTime() - place.everyMs), head.number],
    );
    if (!turn) continue;
    try {
      await place.send?.(line);
      await ctx.db.transaction(async (tx) => {
        await place.write?.(tx, line);
        await tx.query('update ledger_shipped set number = $2, shipped_at = $3, error = null where place = $1', [
          place.name,
          head.number,
          at,
        ]);
      });
      shipped++;
    } catch (error) {
      const reason = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_CHARACTERS);
      ctx.metrics.headsNotShipped.inc({ place: place.name });
      ctx.log.warn({ place: place.name, reason }, 'the ledger head was not shipped');
      await ctx.db.query('update ledger_shipped set error = $2 where place = $1', [place.name, reason]);
    }
  }
  return shipped;
}

export type ShippedTo = {
  place: string;
  tried_at: Date;
  number: bigint | null;
  shipped_at: Date | null;
  error: string | null;
};

export function listShipped(reader: Reader): Promise<ShippedTo[]> {
  return reader.query<ShippedTo>(
    'select place, tried_at, number, shipped_at, error from ledger_shipped order by place',
  );
}
