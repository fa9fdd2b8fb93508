// Requests to the gateway, and how long each took.

import { setTimeout as wait } from 'node:timers/promises';
import { createSender } from '../overload/requests.ts';

/** Longer than any request may take; one without an answer by then counts as never answered. */
const PATIENCE_MS = 60_000;
/** Half of what the gateway takes from one address of this machine; beyond it a request waits here, and that counts too. */
const MOST_SOCKETS = 2_000;
export const ANSWER_WITHIN_MS = 10_000;

export type Answer = { status: number; body: string; location: string };

export type RequestFigures = {
  sent: number;
  /** Not answered within ten seconds. */
  late: number;
  longestMs: number;
  /** How many answers had each status; 0: the connection broke. */
  statuses: Record<string, number>;
};

export interface Requests {
  post(path: string, body: string, headers: Record<string, string>): Promise<Answer>;
  /** Since the last time. */
  takeFigures(): RequestFigures;
  close(): void;
}

const none = (): RequestFigures => ({ sent: 0, late: 0, longestMs: 0, statuses: {} });

export function createRequests(gatewayUrl: string): Requests {
  const sender = createSender(gatewayUrl, '127.0.0.1', MOST_SOCKETS);
  let figures = none();
  return {
    async post(path, body, headers) {
      const started = performance.now();
      const patience = new AbortController();
      const late = wait(PATIENCE_MS, null, { ref: false, signal: patience.signal }).catch(() => null);
      const answer = await Promise.race([sender.send('POST', path, body, headers), late]);
      patience.abort();
      const ms = performance.now() - started;
      const status = answer?.status ?? 0;
      figures.sent++;
      figures.longestMs = Math.max(figures.longestMs, ms);
      if (ms > ANSWER_WITHIN_MS) figures.late++;
      figures.statuses[status] = (figures.statuses[status] ?? 0) + 1;
      return { status, body: answer?.body ?? '', location: String(answer?.headers.location ?? '') };
    },
    takeFigures() {
      const taken = figures;
      figures = none();
      return taken;
    },
    close: () => sender.close(),
  };
}
