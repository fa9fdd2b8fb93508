// Metrics of several processes as one text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics, mergeMetrics } from './metrics.ts';

test('numbers of a process keep its number, and what is read from the database appears once', async () => {
  const processes = [1, 2].map((process) => ({ process, own: createMetrics() }));
  for (const { process, own } of processes) {
    own.requests.inc({ route: '/livez', status: 200 }, process * 10);
    own.requestSeconds.observe({ route: '/livez' }, 0.002);
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
    'simbi_http_request_seconds_count{route="/livez",process="1"} 1',
    'simbi_http_request_seconds_count{route="/livez",process="2"} 1',
  ]);
  assert.deepEqual(valuesOf('simbi_backlog{'), ['simbi_backlog{queue="mails"} 1']);
  assert.deepEqual(valuesOf('simbi_cases_open{'), ['simbi_cases_open{kind="no_answer"} 1']);
  assert.equal(valuesOf('simbi_process_resident_memory_bytes{').length, 2);
  assert.equal(valuesOf('simbi_process_start_time_seconds{').length, 2);
  assert.equal(lines.filter((line) => line === '# TYPE simbi_http_requests_total counter').length, 1);
});
