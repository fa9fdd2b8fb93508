// Metrics of several processes as one text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics, mergeMetrics } from './metrics.ts';

test('numbers of a process keep its number, and what is read from the database appears once', async () => {
  const processes = [1, 2].map((process) => ({ process, own: createMetrics() }));
  for (const { process, own } of processes) {
    for (let request = 0; request < process * 10; request++) own.requests.note('/livez', 200, 0.002);
    own.backlog.set({ queue: 'mails' }, process);
    own.openCases.set({ kind: 'no_answer' }, process);
    own.collectProcessMetrics();
  }
  const text = await mergeMetrics(
    await Promise.all(
      processes.map(async ({ process, own }) => ({ process, metrics: await own.registry.getMetricsAsJSON() })),
    ),
  );
  const lines = text.split('\n');
  const valuesOf = (start: string) => lines.filter((line) => line.startsWith(start));
  assert.deepEqual(valuesOf('simbi_http_requests_total'), [
    'simbi_http_requests_total{route="/livez",status="200",process="1"} 10',
    'simbi_http_requests_total{route="/livez",status="200",process="2"} 20',
  ]);
  assert.deepEqual(valuesOf('simbi_http_request_seconds_count'), [
    'simbi_http_request_seconds_count{route="/livez",process="1"} 10',
    'simbi_http_request_seconds_count{route="/livez",process="2"} 20',
  ]);
  assert.deepEqual(valuesOf('simbi_backlog{'), ['simbi_backlog{queue="mails"} 1']);
  assert.deepEqual(valuesOf('simbi_cases_open{'), ['simbi_cases_open{kind="no_answer"} 1']);
  assert.equal(valuesOf('simbi_process_resident_memory_bytes{').length, 2);
  assert.equal(valuesOf('simbi_process_start_time_seconds{').length, 2);
  assert.equal(lines.filter((line) => line === '# TYPE simbi_http_requests_total counter').length, 1);
});

test('requests are counted by route and status, and their times in buckets that hold all faster ones', async () => {
  const { requests, registry } = createMetrics();
  for (const seconds of [0.001, 0.002, 0.3, 60]) requests.note('/pay', seconds > 1 ? 503 : 200, seconds);
  const lines = (await registry.metrics()).split('\n');
  const value = (start: string) => lines.find((line) => line.startsWith(start))?.slice(start.length + 1);
  assert.equal(value('# TYPE simbi_http_request_seconds'), 'histogram');
  assert.equal(value('simbi_http_requests_total{route="/pay",status="200"}'), '3');
  assert.equal(value('simbi_http_requests_total{route="/pay",status="503"}'), '1');
  const upTo = (bound: string) => value(`simbi_http_request_seconds_bucket{le="${bound}",route="/pay"}`);
  assert.deepEqual(['0.001', '0.0025', '0.25', '0.5', '10', '+Inf'].map(upTo), ['1', '2', '2', '3', '3', '4']);
  assert.equal(value('simbi_http_request_seconds_count{route="/pay"}'), '4');
  assert.equal(value('simbi_http_request_seconds_sum{route="/pay"}'), '60.303');
});
