// Runs of ledger verify as they are kept in the database: where each is, and what it found. A run that broke off goes on from
// there; one asked for in the console is done by the background job of whichever process claims it.

import type { Database, Reader } from '../platform/db.ts';
import type { PagePosition } from './cross-check-pages.ts';

const RUNS_KEPT = 100;
/** A run without a sign of life for this long has lost its process. */
const LEASE_MS = 120_000;
/** Differences of one check that are kept in full; more are only counted. */
const FINDINGS_PER_CHECK = 20;

/** One difference, of the ledger or between it and the rest. */
export type Finding = { what: string; where: string; expected: string; found: string; sentence: string };

export type VerifyRun = {
  readonly id: bigint;
  readonly status: 'waiting' | 'running' | 'done' | 'stopped';
  readonly in_background: boolean;
  readonly asked_by: string;
  readonly asked_at: Date;
  readonly seen_at: Date;
  readonly ended_at: Date | null;
  readonly since: Date | null;
  /** What is being compared; null: nothing yet. */
  readonly stage: string | null;
  readonly position: PagePosition | null;
  /** Rows compared, by stage, and what the ledger's own check counted. */
  readonly checked: Readonly<Record<string, number | string | null>>;
  readonly differences: bigint;
  readonly findings: readonly Finding[];
};

export type VerifyProgress = Pick<VerifyRun, 'stage' | 'position' | 'checked' | 'differences' | 'findings'>;

type NewRun = { by: string; since: Date | null; inBackground: boolean };

/** Adds a run. In the background only one waits or runs at a time: then that one is returned. */
export async function addVerifyRun(db: Database, run: NewRun, at: Date): Promise<VerifyRun> {
  return await db.transaction(async (tx) => {
    // What the metrics look at stays, however many runs of the last hours follow it.
    await tx.query(
      `delete from verify_runs where status in ('done', 'stopped')
         and id <= (select id from verify_runs order by id desc offset ${RUNS_KEPT} limit 1)
         and id is distinct from (select max(id) from verify_runs where status = 'done' and since is null)
         and id is distinct from (select max(id) from verify_runs where status = 'done' and differences > 0)`,
    );
    const [added] = await tx.query<VerifyRun>(
      `insert into verify_runs (status, in_background, asked_by, asked_at, seen_at, since)
       values ($1, $2, $3, $4, $4, $5)
       on conflict (in_background) where in_background and status in ('waiting', 'running') do nothing
       returning *`,
      [run.inBackground ? 'waiting' : 'running', run.inBackground, run.by, at, run.since],
    );
    if (added) return added;
    const [other] = await tx.query<VerifyRun>(
      `select * from verify_runs where in_background and status in ('waiting', 'running')`,
    );
    if (!other) throw new Error('the run that was under way has just ended');
    return other;
  });
}

/** The newest run on the command line that did not end; null: there is none. Only its caller knows that it broke off. */
export async function resumeVerifyRun(db: Database, at: Date): Promise<VerifyRun | null> {
  const [run] = await db.query<VerifyRun>(
    `update verify_runs set seen_at = $1
     where id = (select id from verify_runs where status = 'running' and not in_background order by id desc limit 1)
     returning *`,
    [at],
  );
  return run ?? null;
}

/** Takes the run that waits in the background, or whose process died. */
export async function claimVerifyRun(db: Database, at: Date): Promise<VerifyRun | null> {
  const [run] = await db.query<VerifyRun>(
    `update verify_runs set status = 'running', seen_at = $1
     where in_background and (status = 'waiting' or (status = 'running' and seen_at < $2)) returning *`,
    [at, new Date(at.getTime() - LEASE_MS)],
  );
  return run ?? null;
}

/** Keeps the place and the findings together: a run that breaks off later reports nothing twice and leaves nothing out. */
export async function saveVerifyRun(
  db: Database,
  id: bigint,
  progress: VerifyProgress,
  status: VerifyRun['status'],
  at: Date,
): Promise<void> {
  await db.query(
    `update verify_runs set status = $2, stage = $3, position = $4, checked = $5, differences = $6, findings = $7, seen_at = $8,
       ended_at = case when $2 in ('done', 'stopped') then $8::timestamptz end
     where id = $1`,
    [
      id,
      status,
      progress.stage,
      progress.position === null ? null : JSON.stringify(progress.position),
      JSON.stringify(progress.checked),
      progress.differences,
      JSON.stringify(progress.findings),
      at,
    ],
  );
}

/** The newest run, for the console. */
export async function newestVerifyRun(reader: Reader): Promise<VerifyRun | null> {
  const [run] = await reader.query<VerifyRun>('select * from verify_runs order by id desc limit 1');
  return run ?? null;
}

/**
 * For the metrics: when the last whole run ended, and the most differences that it or a run after it found. A run with --since
 * looks at the last hours only, so it proves nothing about what an earlier one found.
 */
export async function lastVerified(reader: Reader): Promise<{ wholeAt: Date | null; differences: bigint }> {
  const [row] = await reader.query<{ wholeAt: Date | null; differences: bigint }>(
    `with whole as (select id, ended_at from verify_runs where status = 'done' and since is null order by id desc limit 1)
     select (select ended_at from whole) as "wholeAt", coalesce(max(differences), 0) as differences
     from verify_runs where status = 'done' and id >= coalesce((select id from whole), 0)`,
  );
  return row ?? { wholeAt: null, differences: 0n };
}

/** Adds findings: all are counted, the first of each check are kept. */
export function addFindings(
  progress: VerifyProgress,
  found: readonly Finding[],
  inAll = BigInt(found.length),
): VerifyProgress {
  const kept = [...progress.findings];
  for (const finding of found)
    if (kept.filter((each) => each.what === finding.what).length < FINDINGS_PER_CHECK) kept.push(finding);
  return { ...progress, findings: kept, differences: progress.differences + inAll };
}
