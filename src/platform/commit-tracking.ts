// Counts what one request, or one command, has committed so far. An error that ends it may say "Nothing was done." only
// while that is true; after a commit the outcome is not known to the caller.

import { AsyncLocalStorage } from 'node:async_hooks';
import { Problem, type ProblemCode } from './errors.ts';

export type Commits = { count: number };

const tracked = new AsyncLocalStorage<Commits>();

/** Errors whose sentences say that nothing was done. */
const NOTHING_DONE: ReadonlySet<ProblemCode> = new Set(['database_unavailable', 'overloaded', 'clock_skewed']);

/** Whatever `work` starts, now or later, counts its commits here. */
export function trackCommits<T>(commits: Commits, work: () => T): T {
  return tracked.run(commits, work);
}

/** For work that is done for several requests at once: it is counted for each when it is finished. */
export function withoutTracking<T>(work: () => T): T {
  return tracked.exit(work);
}

export function noteCommit(): void {
  const commits = trackedCommits();
  if (commits) commits.count++;
}

/** Where commits are counted for who asks, for a commit that is made elsewhere. */
export function trackedCommits(): Commits | undefined {
  return tracked.getStore();
}

/** The error as the caller may read it. */
export function withoutFalsehood(error: unknown, commits: Commits | undefined): unknown {
  if (!(error instanceof Problem) || !commits || commits.count === 0 || !NOTHING_DONE.has(error.code)) return error;
  return new Problem('outcome_unknown', { retryAfterSeconds: error.details.retryAfterSeconds ?? 1 });
}
