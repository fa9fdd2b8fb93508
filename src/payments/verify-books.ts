// ledger verify: the ledger by itself (balances, running balances, hash chain), then every check between the ledger and
// transactions, refunds, events, incoming payments and cases, page by page. The place is kept after each few pages, so a
// run can pause or break off and go on.

import { type Head, type KnownHead, lastHeadAt } from '../ledger/chain.ts';
import type { OutsideComparison } from '../ledger/outside-heads.ts';
import { type PausedAt, type Verification, verifyLedger } from '../ledger/verify.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { lowestUuid, publicId } from '../platform/ids.ts';
import { CROSS_CHECKS } from './cross-check.ts';
import {
  type CheckStage,
  type MoreChecks,
  type Page,
  type PagePosition,
  type Scope,
  stagesOf,
} from './cross-check-pages.ts';
import type { CrossCheck, CrossCheckRow } from './cross-check-parts.ts';
import { refOf } from './transactions.ts';
import {
  addFindings,
  claimVerifyRun,
  type Finding,
  saveVerifyRun,
  type VerifyProgress,
  type VerifyRun,
} from './verify-runs.ts';

const LEDGER_STAGE = 'ledger';
/** How often the place is kept: after this many blocks of the chain, or pages of keys. */
const SAVE_EVERY = 10;
/** Events are kept for ninety days; a day less, so that a month that is being deleted gives no false alarm. */
const EVENTS_KEPT_MS = 89 * DAY_MS;
/** How long one pass of the background job goes on; the next pass goes on where it paused. */
const PASS_MS = 5_000;
/** A run in the background is stopped after this long; the command has no such limit. */
const MAX_BACKGROUND_MS = 6 * 3_600_000;

export type VerifyOptions = {
  onProgress?: (stage: string, rows: number) => void;
  /** Asked after each page. False pauses the run: it stays open and can go on. */
  keepGoing?: () => boolean;
  /** Heads that were noted down elsewhere. */
  knownHeads?: readonly KnownHead[];
  more?: MoreChecks;
  /** Compares what was shipped with the database, when the ledger itself was compared. */
  outside?: () => Promise<OutsideComparison>;
};

type Runner = {
  readonly ctx: Pick<Context, 'db' | 'clock'>;
  readonly run: VerifyRun;
  readonly scope: Scope;
  readonly options: VerifyOptions;
  progress: VerifyProgress;
  unsaved: number;
};

/** Does the run, or goes on with it, and returns it as it is then: done, or still running where it was paused. */
export async function verifyBooks(
  ctx: Pick<Context, 'db' | 'clock'>,
  run: VerifyRun,
  options: VerifyOptions = {},
): Promise<VerifyRun> {
  const start = run.since === null ? null : await lastHeadAt(ctx.db, run.since);
  const runner: Runner = {
    ctx,
    run,
    scope: { since: run.since, afterTransfer: start?.last_id ?? 0n },
    options,
    progress: run,
    unsaved: 0,
  };
  const complete = await runStages(runner, start);
  await save(runner, complete ? 'done' : 'running');
  return { ...run, ...runner.progress, status: complete ? 'done' : 'running', seen_at: ctx.clock.now() };
}

async function runStages(runner: Runner, after: Head | null): Promise<boolean> {
  const stages = stagesOf(runner.scope, runner.options.more);
  const from = runner.run.stage ?? LEDGER_STAGE;
  if (from === LEDGER_STAGE && !(await runLedger(runner, after))) return false;
  const first = Math.max(
    0,
    stages.findIndex((stage) => stage.name === from),
  );
  for (const stage of stages.slice(first)) {
    const position = stage.name === from ? runner.run.position : null;
    runner.progress = { ...runner.progress, stage: stage.name, position };
    if (!(await runStage(runner, stage, position))) return false;
  }
  return true;
}

/** The place in the chain as it is kept: the last past block, the last head, the last block of each partition, odd accounts. */
function writePaused({ place: { past, head, blocks }, odd }: PausedAt): PagePosition {
  return [
    ...[past, head, ...blocks].map(String),
    ...odd.map(({ id, sum, derived }) => `${id}:${sum}:${derived ?? ''}`),
  ];
}

/** Null: begin. A run that an older version began kept the number of a block. */
function readPaused(position: PagePosition | null): PausedAt | null {
  const [past, head, ...blocks] = (position ?? []).filter((part) => !part.includes(':')).map(BigInt);
  if (past === undefined || head === undefined) return null;
  const odd = (position ?? []).flatMap((part) => {
    const [id, sum, derived] = part.split(':');
    return id && sum !== undefined ? [{ id, sum: BigInt(sum), derived: derived ? BigInt(derived) : null }] : [];
  });
  return { place: { past, head, blocks }, odd };
}

async function runLedger(runner: Runner, after: Head | null): Promise<boolean> {
  const before = runner.progress;
  const from = readPaused(runner.run.position);
  const apply = (found: Pick<Verification, 'differences' | 'differencesInAll'>, transfers: number) => {
    runner.progress = count(
      addFindings({ ...before, stage: LEDGER_STAGE }, found.differences, BigInt(found.differencesInAll)),
      'ledger_transfers',
      transfers,
    );
  };
  const verification = await verifyLedger(runner.ctx, {
    ...(after ? { after } : {}),
    ...(from ? { from } : {}),
    ...(runner.options.knownHeads ? { knownHeads: runner.options.knownHeads } : {}),
    onProgress: (transfers) => runner.options.onProgress?.(LEDGER_STAGE, transfers),
    onBlock: async ({ place, odd, transfers, ...found }) => {
      apply(found, transfers);
      runner.progress = { ...runner.progress, position: writePaused({ place, odd }) };
      return await pageDone(runner);
    },
  });
  if (!verification.complete) return false;
  const { checked } = verification;
  apply(verification, checked.transfers);
  const { accounts, wallets, currencies, unsealed } = checked;
  const head = checked.head ? `${checked.head.number}:${checked.head.hash}` : null;
  runner.progress = {
    ...runner.progress,
    checked: { ...runner.progress.checked, accounts, wallets, currencies, unsealed, head },
  };
  await runOutside(runner);
  return true;
}

async function runOutside(runner: Runner): Promise<void> {
  const outside = await runner.options.outside?.();
  if (!outside) return;
  runner.progress = count(addFindings(runner.progress, outside.differences), 'shipped_heads', outside.compared);
  if (outside.lostByRestores > 0)
    runner.progress = count(runner.progress, 'heads_lost_by_restores', outside.lostByRestores);
}

async function runStage(runner: Runner, stage: CheckStage, from: PagePosition | null): Promise<boolean> {
  for (let after = from; ; ) {
    const result = await runPage(runner, stage, after);
    if (!result) return true;
    const { page, findings } = result;
    runner.progress = count(addFindings(runner.progress, findings), stage.name, page.rows);
    runner.progress = { ...runner.progress, position: page.last };
    runner.options.onProgress?.(stage.name, Number(runner.progress.checked[stage.name] ?? 0));
    after = page.last;
    if (!(await pageDone(runner))) return false;
  }
}

/** One page and all its checks in one snapshot. The plans go by the keys, however small or large a table seems. */
async function runPage(
  { ctx, scope, options }: Runner,
  stage: CheckStage,
  after: PagePosition | null,
): Promise<{ page: Page; findings: Finding[] } | null> {
  const eventFloor = lowestUuid(new Date(ctx.clock.millis() - EVENTS_KEPT_MS));
  return await ctx.db.snapshot(async (reader) => {
    await reader.query('set local enable_seqscan = off');
    const page = await stage.next(reader, after, scope);
    return page && { page, findings: await runChecks(reader, page, eventFloor, options.more) };
  });
}

async function runChecks(
  reader: Reader,
  page: Page,
  eventFloor: string,
  more: MoreChecks | undefined,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of [...CROSS_CHECKS, ...(more?.checks ?? [])].filter((each) => each.subject === page.subject)) {
    const values = check.usesEventFloor ? [...page.values, eventFloor] : page.values;
    const rows = await reader.query<CrossCheckRow>(check.sql, values);
    findings.push(...rows.map((row) => findingOf(check, row)));
  }
  return findings;
}

function findingOf(check: CrossCheck, row: CrossCheckRow): Finding {
  const where = check.place?.(row) ?? placeOf(check, row);
  const { expected, found } = row;
  const sentence = `${where}: expected ${expected}; found ${found}. ${check.rule}`;
  return { what: check.name, where, expected, found, sentence };
}

function placeOf(check: CrossCheck, { holder_id, id }: CrossCheckRow): string {
  switch (check.subject) {
    case 'holders':
      return `holder ${holder_id}, ${id}`;
    case 'cases':
      return publicId('case', id);
    default:
      return refOf({ id });
  }
}

function count(progress: VerifyProgress, what: string, rows: number): VerifyProgress {
  return { ...progress, checked: { ...progress.checked, [what]: Number(progress.checked[what] ?? 0) + rows } };
}

async function pageDone(runner: Runner): Promise<boolean> {
  if (++runner.unsaved % SAVE_EVERY === 0) await save(runner, 'running');
  return runner.options.keepGoing?.() ?? true;
}

function save({ ctx, run, progress }: Runner, status: VerifyRun['status']): Promise<void> {
  return saveVerifyRun(ctx.db, run.id, progress, status, ctx.clock.now());
}

/** One pass of the background job: a piece of the run that was asked for in the console. Returns 1 if there was one. */
export async function verifyInBackground(
  ctx: Pick<Context, 'db' | 'clock'>,
  passMs = PASS_MS,
  options: Pick<VerifyOptions, 'more' | 'outside'> = {},
): Promise<number> {
  const begunAt = ctx.clock.millis();
  const run = await claimVerifyRun(ctx.db, ctx.clock.now());
  if (!run) return 0;
  // Asked first: a run that fails at the same page again and again must end too, or no other could begin.
  if (begunAt - run.asked_at.getTime() > MAX_BACKGROUND_MS) {
    await saveVerifyRun(ctx.db, run.id, run, 'stopped', ctx.clock.now());
    return 1;
  }
  const after = await verifyBooks(ctx, run, {
    ...options,
    keepGoing: () => ctx.clock.millis() - begunAt < passMs,
  });
  if (after.status !== 'done') await saveVerifyRun(ctx.db, run.id, after, 'waiting', ctx.clock.now());
  return 1;
}
