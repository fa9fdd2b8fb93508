// The wire faults that a script can inject into a response.

import type { ServerResponse } from 'node:http';
import type { WireFault } from './scripts.ts';

const HUGE_BYTES = 5 * 1024 * 1024;
const DRIP_EVERY_MS = 50;
const JSON_TYPE = { 'content-type': 'application/json' };

export function injectFault(fault: WireFault, response: ServerResponse, silenceMs: number): void {
  switch (fault) {
    case 'down':
      response.writeHead(503, JSON_TYPE).end('{"error":"down","message":"The operator is down."}');
      return;
    case 'error':
    case 'error_after':
      response.writeHead(500, JSON_TYPE).end('{"error":"internal","message":"Something went wrong."}');
      return;
    case 'timeout':
    case 'timeout_after':
      leaveUnanswered(response, silenceMs);
      return;
    case 'reset':
    case 'reset_after':
      response.socket?.resetAndDestroy();
      return;
    case 'garbage_after':
      response.writeHead(200, JSON_TYPE).end('{"reference": "TX');
      return;
    case 'html_after':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Maintenance</title>');
      return;
    case 'huge_after':
      response.writeHead(200, JSON_TYPE).end(Buffer.alloc(HUGE_BYTES, ' '));
      return;
    case 'redirect_after':
      response.writeHead(307, { location: '/v1/payments' }).end();
      return;
    case 'drip_after':
      drip(response, silenceMs);
      return;
  }
}

/** Sends a byte every 50 ms: each restarts a time-out that is only an idle time-out. */
function drip(response: ServerResponse, silenceMs: number): void {
  response.writeHead(200, JSON_TYPE);
  const timer = setInterval(() => response.write(' '), DRIP_EVERY_MS);
  const end = setTimeout(() => response.destroy(), silenceMs);
  response.once('close', () => {
    clearInterval(timer);
    clearTimeout(end);
  });
}

/** Sends no response; the connection is closed after `silenceMs`. */
export function leaveUnanswered(response: ServerResponse, silenceMs: number): void {
  const end = setTimeout(() => response.destroy(), silenceMs);
  response.once('close', () => clearTimeout(end));
}
