// The audit log as a chain of hashes: exported as lines of JSON that a program can check without this database, and verified
// here page by page. The database makes the links when a transaction ends (migration 0029).

import { setTimeout } from 'node:timers/promises';
import type { Reader } from '../platform/db.ts';

const PAGE_ROWS = 1_000;
/** How long a transaction may take to end after it took the number of its row: within it older numbers can still appear. */
const LATE_ROWS_MS = 60_000;
const FOLLOW_PAUSE_MS = 1_000;

const LINKED = `
  from audit_log l join audit_chain c on c.audit_id = l.id
  left join audit_chain p on p.stream = c.stream and p.position = c.position - 1`;

const LINE = `
  left(audit_line(l, c.stream, c.position), -1) || ', "previous_hash": "' || coalesce(encode(p.hash, 'hex'), repeat('0', 64))
  || '", "hash": "' || encode(c.hash, 'hex') || '"}'`;

type ExportedLine = { id: bigint; line: string };

export type ExportOptions = {
  readonly since: Date | null;
  /** Goes on with what is written from now on, until the signal. */
  readonly follow?: AbortSignal;
};

/** The lines in the order of their ids, some at a time. Where several transactions end together, `position` orders each stream. */
export async function* exportAudit(reader: Reader, options: ExportOptions): AsyncGenerator<string[]> {
  let after = 0n;
  for (;;) {
    const page = await readLines(reader, after, options.since);
    if (page.length > 0) yield page.map(({ line }) => line);
    after = page.at(-1)?.id ?? after;
    if (page.length < PAGE_ROWS) break;
  }
  if (options.follow) yield* followAudit(reader, after, options.since, options.follow);
}

async function* followAudit(
  reader: Reader,
  from: bigint,
  since: Date | null,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  /** Rows behind `floor` are settled; those after it were sent at the time beside them. */
  let floor = from;
  const sent = new Map<bigint, number>();
  while (!signal.aborted) {
    let after = floor;
    for (;;) {
      const page = await readLines(reader, after, since);
      const unsent = page.filter(({ id }) => !sent.has(id));
      const now = performance.now();
      for (const { id } of unsent) sent.set(id, now);
      if (unsent.length > 0) yield unsent.map(({ line }) => line);
      after = page.at(-1)?.id ?? after;
      if (page.length < PAGE_ROWS) break;
    }
    const settled = performance.now() - LATE_ROWS_MS;
    const ids = [...sent.keys()].sort((left, right) => (left < right ? -1 : 1));
    for (const id of ids) {
      if ((sent.get(id) ?? settled) >= settled) break;
      sent.delete(id);
      floor = id;
    }
    await setTimeout(FOLLOW_PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

function readLines(reader: Reader, after: bigint, since: Date | null): Promise<ExportedLine[]> {
  return reader.query<ExportedLine>(
    `select l.id, ${LINE} as line ${LINKED}
     where l.id > $1 and ($2::timestamptz is null or l.at >= $2) order by l.id limit ${PAGE_ROWS}`,
    [after, since],
  );
}

export type BrokenLink = { stream: bigint; position: bigint | null; audit_id: bigint | null; sentence: string };

export type AuditVerification = {
  readonly rows: number;
  readonly streams: number;
  /** The first row that is not what was written; null: all are. */
  readonly broken: BrokenLink | null;
  /** Where this database was restored: what was written between the backup and that moment is not in it. */
  readonly restores: readonly { at: Date; position: bigint }[];
  /** The newest link of the gateway's own stream, to record outside the database. */
  readonly head: string | null;
};

export type KnownLink = { readonly stream: bigint; readonly position: bigint; readonly hash: string };

/** Recomputes every hash. `known` is a link that was recorded outside the database: it proves what is before it. */
export async function verifyAudit(reader: Reader, known: KnownLink | null = null): Promise<AuditVerification> {
  const counted = { rows: 0, streams: 0 };
  const broken =
    (await findBrokenLink(reader, counted)) ??
    (await findCutStream(reader)) ??
    (await findUnlinkedRow(reader)) ??
    (known && (await findUnknownLink(reader, known)));
  const restores = await reader.query<{ at: Date; position: bigint }>(
    `select l.at, c.position from audit_log l join audit_chain c on c.audit_id = l.id
     where l.action = 'gateway.restored' and l.holder_id is null order by c.position`,
  );
  const [head] = await reader.query<{ head: string }>(
    `select stream || ':' || position || ':' || encode(hash, 'hex') as head from audit_streams where stream = 0`,
  );
  return { ...counted, broken, restores, head: head?.head ?? null };
}

type Link = { stream: bigint; position: bigint; audit_id: bigint; found: boolean; matches: boolean };

async function findBrokenLink(reader: Reader, counted: { rows: number; streams: number }): Promise<BrokenLink | null> {
  let stream = -1n;
  let position = 0n;
  for (;;) {
    const page = await reader.query<Link>(
      `select c.stream, c.position, c.audit_id, l.id is not null as found,
         c.hash = audit_hash(coalesce(p.hash, decode(repeat('00', 32), 'hex')), audit_line(l, c.stream, c.position)) as matches
       from audit_chain c left join audit_log l on l.id = c.audit_id
       left join audit_chain p on p.stream = c.stream and p.position = c.position - 1
       where (c.stream, c.position) > ($1, $2) order by c.stream, c.position limit ${PAGE_ROWS}`,
      [stream, position],
    );
    for (const link of page) {
      const expected = link.stream === stream ? position + 1n : 1n;
      if (link.position !== expected) return broken(link.stream, expected, null, 'is missing');
      if (!link.found) return broken(link.stream, link.position, link.audit_id, 'was removed');
      if (!link.matches) return broken(link.stream, link.position, link.audit_id, 'is not what was written');
      if (link.stream !== stream) counted.streams++;
      counted.rows++;
      ({ stream, position } = link);
    }
    if (page.length < PAGE_ROWS) return null;
  }
}

function broken(stream: bigint, position: bigint | null, auditId: bigint | null, what: string): BrokenLink {
  const row = auditId === null ? '' : ` (row ${auditId} of audit_log)`;
  const place = position === null ? 'A row' : `Row ${position}`;
  return { stream, position, audit_id: auditId, sentence: `${place} of stream ${stream}${row} ${what}.` };
}

/** The newest rows of a stream were removed, or the note of the newest was changed. */
async function findCutStream(reader: Reader): Promise<BrokenLink | null> {
  const [row] = await reader.query<{ stream: bigint; position: bigint }>(
    `select coalesce(s.stream, n.stream) as stream, coalesce(s.position, n.position) as position
     from audit_streams s
     full join (select distinct on (stream) stream, position, hash from audit_chain order by stream, position desc) n
       on n.stream = s.stream
     where (s.position, s.hash) is distinct from (n.position, n.hash) order by 1 limit 1`,
  );
  return row ? broken(row.stream, row.position, null, 'is missing, or is not the newest') : null;
}

async function findUnlinkedRow(reader: Reader): Promise<BrokenLink | null> {
  const [row] = await reader.query<{ id: bigint; stream: bigint }>(
    `select l.id, coalesce(l.holder_id, 0) as stream from audit_log l
     where not exists (select from audit_chain c where c.audit_id = l.id) order by l.id limit 1`,
  );
  return row ? broken(row.stream, null, row.id, 'was inserted without a link') : null;
}

async function findUnknownLink(reader: Reader, known: KnownLink): Promise<BrokenLink | null> {
  const [row] = await reader.query(
    `select from audit_chain where stream = $1 and position = $2 and encode(hash, 'hex') = $3`,
    [known.stream, known.position, known.hash],
  );
  return row ? null : broken(known.stream, known.position, null, 'is not the one that was recorded');
}
