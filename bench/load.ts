// The generator: signed requests over raw keep-alive sockets. Bodies are signed before the clock starts, so what is
// measured is the server. Closed loop: each socket sends the next request when it has its answer. Open loop: requests
// leave on a schedule, and latency counts from the scheduled moment, so a stall is seen by everyone who waits behind it. Only what our
// own timer is late by is not counted.
// Closed loops and overload are left to wrk where it is installed (wrk.ts).

import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import canonicalize from 'canonicalize';
import { findWrk, runWrk } from './wrk.ts';

export type Client = { clientId: string; title: string; secretKey: string };

/** How often we look at the schedule: a timer has no finer ticks. On average a request leaves half of it late. */
const TICK_MS = 1;

export type LoadPlan = {
  host: string;
  port: number;
  path: string;
  connections: number;
  /** Requests a second; null: closed loop, as fast as answers come. */
  rate: number | null;
  /** More than the server can do: how many of them it does is asked, not how long each waits. */
  isOverload?: true;
  requests: Buffer[];
  /** Stop sending after this long, even when requests are left. */
  maxSeconds: number;
};

export type LoadResult = {
  sent: number;
  accepted: number;
  refused: number;
  failed: number;
  seconds: number;
  /** Milliseconds, sorted. */
  latencies: number[];
  refusalLatencies: number[];
};

/** Makes each request another one, also those that are signed in the same second for the next measurement. */
let salt = 0;

/** Bodies signed now, one a payment, round robin over the clients. */
export function signRequests(
  clients: Client[],
  count: number,
  path: string,
  params: (index: number) => object,
): Buffer[] {
  const timestamp = Math.floor(Date.now() / 1000);
  return Array.from({ length: count }, (_, index) => {
    const client = clients[index % clients.length] as Client;
    const body = {
      client_id: client.clientId,
      sender: client.title,
      timestamp,
      salt: `${process.pid}-${salt++}`,
      params: params(index),
    };
    const signature = createHmac('sha256', client.secretKey)
      .update(canonicalize(body) ?? '')
      .digest('hex');
    const text = JSON.stringify({ ...body, signature });
    return Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  });
}

/** A closed loop of many connections, and overload, by wrk, where it is installed. One connection is not faster by it. */
export function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const wrk = (plan.rate === null || plan.isOverload) && plan.connections > 1 ? findWrk() : null;
  return wrk === null ? runOwnLoad(plan) : runWrk(wrk, plan);
}

/** The generator for schedules, and where wrk is missing. */
export async function runOwnLoad(plan: LoadPlan): Promise<LoadResult> {
  const result: LoadResult = {
    sent: 0,
    accepted: 0,
    refused: 0,
    failed: 0,
    seconds: 0,
    latencies: [],
    refusalLatencies: [],
  };
  const started = performance.now();
  const deadline = started + plan.maxSeconds * 1000;
  let next = 0;
  // First in, first out: a connection that nobody uses for seconds is closed by the server.
  const idle: Lane[] = [];

  function dueAt(index: number): number {
    return plan.rate === null ? performance.now() : started + (index * 1000) / plan.rate;
  }

  /** `lateMs`: what the request may be late by for our own doing. One that waited for a connection has waited for the server. */
  function take(lane: Lane, lateMs = 0): void {
    const request = next < plan.requests.length && performance.now() < deadline ? plan.requests[next] : undefined;
    if (!request) {
      lane.close();
      return;
    }
    if (plan.rate !== null && dueAt(next) > performance.now()) {
      idle.push(lane);
      return;
    }
    lane.send(request, Math.min(dueAt(next) + lateMs, performance.now()));
    next++;
    result.sent++;
  }

  const lanes = await Promise.all(
    Array.from({ length: plan.connections }, () =>
      openLane(plan.host, plan.port, (status, latency, lane) => {
        if (status === 200) {
          result.accepted++;
          result.latencies.push(latency);
        } else if (status > 0) {
          result.refused++;
          result.refusalLatencies.push(latency);
        } else result.failed++;
        take(lane);
      }),
    ),
  );
  const timer =
    plan.rate === null
      ? null
      : setInterval(() => {
          while (
            idle.length > 0 &&
            (next >= plan.requests.length || performance.now() >= deadline || dueAt(next) <= performance.now())
          )
            take(idle.shift() as Lane, TICK_MS);
        }, TICK_MS);
  for (const lane of lanes) take(lane);
  await Promise.all(lanes.map((lane) => lane.closed));
  if (timer) clearInterval(timer);
  result.seconds = (performance.now() - started) / 1000;
  result.latencies.sort((left, right) => left - right);
  result.refusalLatencies.sort((left, right) => left - right);
  return result;
}

/** Of an even number of values: half way between the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const above = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const below = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (above + below) / 2;
}

export function percentile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

type Lane = { send(request: Buffer, since: number): void; close(): void; closed: Promise<void> };

/** One keep-alive connection with one request under way. */
function openLane(
  host: string,
  port: number,
  onAnswer: (status: number, latency: number, lane: Lane) => void,
): Promise<Lane> {
  return new Promise((resolve, reject) => {
    let since = 0;
    let waiting = false;
    let text = '';
    let end = () => {};
    const closed = new Promise<void>((done) => {
      end = done;
    });
    const socket: Socket = connect({ host, port, noDelay: true });
    const lane: Lane = {
      closed,
      send(request, scheduled) {
        since = scheduled;
        waiting = true;
        socket.write(request);
      },
      close: () => socket.end(),
    };
    socket.once('connect', () => resolve(lane));
    socket.once('error', reject);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (waiting) onAnswer(0, performance.now() - since, { ...lane, send: () => undefined });
      waiting = false;
      end();
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const headEnd = text.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < headEnd + 4 + length) return;
      const status = Number(text.slice(9, 12));
      text = '';
      waiting = false;
      onAnswer(status, performance.now() - since, lane);
    });
  });
}
