// Heads of the ledger outside its database: as a signed line of JSON in a file, at an address, in a mail. Who changes the
// database cannot change those. The key derives from the master key, so a line can be read back by this gateway only, and
// anybody can check it with the public key.

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { dataPath } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import type { Outbound } from '../platform/outbound.ts';
import { readLastRestore } from '../platform/restores.ts';
import type { Head, KnownHead } from './chain.ts';
import type { LedgerDifference } from './differences.ts';

/** Purpose of the derived key. It can never change: signed lines depend on it. */
const KEY_PURPOSE = 'ledger heads';
/** What DER has before the 32 bytes of an Ed25519 key. */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex');
const MAX_LINE_CHARACTERS = 2_000;
const MAX_ANSWER_BYTES = 65_536;
/** A start waits for it. */
const ASK_TIMEOUT_MS = 3_000;
const COMPARED_AT_ONCE = 5_000;

export type OutsideHead = KnownHead & { readonly sealedAt: Date };

/** Writes and reads the lines of one ledger. */
export type HeadSigner = {
  /** To check signatures with: Ed25519, SPKI in base64. */
  readonly publicKey: string;
  line(head: Head): string;
  /** Null: not a line of this ledger. `signed` false: somebody else wrote it. */
  read(line: string): { head: OutsideHead; signed: boolean } | null;
};

export async function createHeadSigner(ctx: Pick<Context, 'db' | 'vault'>): Promise<HeadSigner> {
  const ledger = await readLedgerId(ctx.db);
  const der = Buffer.concat([PKCS8_START, ctx.vault.deriveKey(KEY_PURPOSE)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  return {
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    line({ number, hash, sealed_at }) {
      const fields = { ledger, number: String(number), hash: hash.toString('hex'), sealed_at: sealed_at.toISOString() };
      const signature = sign(null, signedText(fields), privateKey).toString('base64');
      return JSON.stringify({ ...fields, signature });
    },
    read: (line) => readLine(line, ledger, publicKey),
  };
}

async function readLedgerId(reader: Reader): Promise<string> {
  const [row] = await reader.query<{ id: string }>('select id from ledger_identity');
  if (!row) throw new Error('the ledger has no identity');
  return row.id;
}

type LineFields = { ledger: string; number: string; hash: string; sealed_at: string };

function signedText({ ledger, number, hash, sealed_at }: LineFields): Buffer {
  return Buffer.from(['simbi ledger head', ledger, number, hash, sealed_at].join('\n'));
}

function readLine(line: string, ledger: string, key: KeyObject): { head: OutsideHead; signed: boolean } | null {
  const fields = parseFields(line);
  if (fields?.ledger !== ledger) return null;
  const head = { number: BigInt(fields.number), hash: fields.hash, sealedAt: new Date(fields.sealed_at) };
  return { head, signed: verify(null, signedText(fields), key, Buffer.from(fields.signature, 'base64')) };
}

function parseFields(line: string): (LineFields & { signature: string }) | null {
  if (line.length > MAX_LINE_CHARACTERS) return null;
  try {
    const { ledger, number, hash, sealed_at, signature } = JSON.parse(line) as Record<string, unknown>;
    const isRight =
      typeof ledger === 'string' &&
      typeof number === 'string' &&
      /^\d{1,18}$/.test(number) &&
      typeof hash === 'string' &&
      /^[0-9a-f]{64}$/.test(hash) &&
      typeof sealed_at === 'string' &&
      !Number.isNaN(Date.parse(sealed_at)) &&
      typeof signature === 'string';
    return isRight ? { ledger, number, hash, sealed_at, signature } : null;
  } catch {
    return null;
  }
}

/** The file in DATA_DIR that has the newest head that a process of this machine has seen. */
export async function keptFile(ctx: Pick<Context, 'config' | 'db'>): Promise<string> {
  return dataPath(ctx.config, 'ledger-heads', `${await readLedgerId(ctx.db)}.json`);
}

/** Replaces the file as a whole: a process that ends meanwhile leaves the old line or the new one. */
export async function writeKept(path: string, line: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(`${path}.${process.pid}`, `${line}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.${process.pid}`, path);
}

export async function appendHead(path: string, line: string): Promise<void> {
  const file = await open(path, 'a', 0o600);
  try {
    await file.write(`${line}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A place that heads are read back from. It gives lines, the newest last; none: there is nothing yet. */
export type OutsidePlace = { readonly name: string; readonly lines: () => AsyncIterable<string> };

/** Every place of this process that can be read: the file in DATA_DIR, LEDGER_HEAD_FILE, LEDGER_HEAD_URL. */
export async function listOutsidePlaces(
  ctx: Pick<Context, 'config' | 'db'>,
  outbound: Pick<Outbound, 'request'> | null,
): Promise<OutsidePlace[]> {
  const { ledgerHeadFile: file, ledgerHeadUrl: url } = ctx.config;
  const kept = await keptFile(ctx);
  return [
    { name: 'DATA_DIR', lines: () => linesOfText(() => readOrNothing(kept)) },
    ...(file ? [{ name: 'LEDGER_HEAD_FILE', lines: () => linesOfFile(file) }] : []),
    ...(url && outbound
      ? [{ name: 'LEDGER_HEAD_URL', lines: () => linesOfText(() => askAddress(outbound, url)) }]
      : []),
  ];
}

async function* linesOfText(read: () => Promise<string>): AsyncGenerator<string> {
  yield* (await read()).split('\n').filter(Boolean);
}

async function* linesOfFile(path: string): AsyncGenerator<string> {
  const file = await open(path).catch(nothingYet);
  if (!file) return;
  yield* createInterface({ input: file.createReadStream({ encoding: 'utf8' }), crlfDelay: Number.POSITIVE_INFINITY });
}

async function readOrNothing(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(nothingYet)) ?? '';
}

function nothingYet(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** An address that only takes heads answers something else than 200: then there is nothing to compare. */
async function askAddress(outbound: Pick<Outbound, 'request'>, url: string): Promise<string> {
  const answer = await outbound.request({
    url,
    method: 'GET',
    timeoutMs: ASK_TIMEOUT_MS,
    maxAnswerBytes: MAX_ANSWER_BYTES,
  });
  return answer.error === null && answer.status === 200 ? answer.bodyStart.toString('utf8') : '';
}

/** Those that are not in the database, of heads that were noted down. */
export async function findMissing(reader: Reader, heads: readonly OutsideHead[]): Promise<OutsideHead[]> {
  const rows = await reader.query<{ place: bigint }>(
    `select place from unnest($1::bigint[], $2::text[]) with ordinality as known (number, hash, place)
     where not exists (select from ledger_heads h where h.number = known.number and h.hash = decode(known.hash, 'hex'))
       and not exists (select from ledger_blocks b where b.number = known.number and b.hash = decode(known.hash, 'hex'))
     order by place`,
    [heads.map(({ number }) => number), heads.map(({ hash }) => hash)],
  );
  return rows.flatMap(({ place }) => heads[Number(place) - 1] ?? []);
}

export type OutsideComparison = {
  readonly differences: LedgerDifference[];
  readonly compared: number;
  /** Heads that a restore took back: what came after the backup is gone, and somebody has said so. */
  readonly lostByRestores: number;
};

/** For ledger verify: every head in every place that can be read, against the database. */
export async function compareOutside(
  ctx: Pick<Context, 'config' | 'db' | 'vault'>,
  outbound: Pick<Outbound, 'request'> | null,
): Promise<OutsideComparison> {
  const signer = await createHeadSigner(ctx);
  const restoredAt = await readLastRestore(ctx.db);
  const differences: LedgerDifference[] = [];
  let compared = 0;
  let lostByRestores = 0;
  const report = (place: string, number: bigint, expected: string, found: string, sentence: string) =>
    differences.push({ what: 'block', where: `block ${number} in ${place}`, expected, found, sentence });
  const compare = async (place: string, heads: OutsideHead[]) => {
    compared += heads.length;
    for (const { number, hash, sealedAt } of await findMissing(ctx.db, heads)) {
      if (restoredAt && sealedAt < restoredAt) lostByRestores++;
      else
        report(
          place,
          number,
          hash,
          'not in the database',
          `Block ${number} is in ${place} and not in the database: the past was rewritten, or its end was removed.`,
        );
    }
  };
  for (const { name, lines } of await listOutsidePlaces(ctx, outbound)) {
    let heads: OutsideHead[] = [];
    for await (const line of lines()) {
      const found = signer.read(line);
      if (!found) continue;
      const { number } = found.head;
      if (found.signed) heads.push(found.head);
      else
        report(name, number, 'our signature', 'another', `Block ${number} in ${name} was not signed by this gateway.`);
      if (heads.length < COMPARED_AT_ONCE) continue;
      await compare(name, heads);
      heads = [];
    }
    await compare(name, heads);
  }
  return { differences, compared, lostByRestores };
}
