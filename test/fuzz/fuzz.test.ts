// 7,000 fuzzed requests, enough to reach every route, and the proof that the fuzzer notices: routes that throw, leak and answer
// nothing are found and can be replayed. More, and other seeds: npm run fuzz -- --requests 50000 --seed 2

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONSOLE_ROUTES } from '../../src/console/routes.ts';
import type { HttpServer } from '../../src/platform/http.ts';
import { FOREIGN_NAME } from './fixture.ts';
import { describeFailure, runFuzz } from './fuzz.ts';
import { OPEN_ROUTES } from './page-requests.ts';

const SEED = '13';
const REQUESTS = 7_000;

test('7,000 fuzzed requests: no error of ours, nothing of another account, right books; every route is reached', async () => {
  const { failures, sent, reached } = await runFuzz({ seed: SEED, requests: REQUESTS });
  const described = failures.slice(0, 5).map((failure) => describeFailure(SEED, failure));
  assert.equal(described.join('\n\n'), '');
  assert.equal(sent, REQUESTS);
  const consoleRoutes = CONSOLE_ROUTES.map(({ method, path }) => `${method} /console${path}`);
  const notThere = ['GET /', 'GET /:page', 'GET /logos/:hash.webp', 'GET /pay/:id/qr.svg'];
  const expected = [...consoleRoutes, ...OPEN_ROUTES.filter((route) => !notThere.includes(route))];
  assert.deepEqual(
    expected.filter((route) => !reached.has(route)),
    [],
  );
});

test('a route that throws, one that leaks and one that answers nothing are found, with the command that replays them', async () => {
  const planted = (path: string) => ({ method: 'GET', path, parameters: [], body: null, needsToken: false });
  const plant = (app: HttpServer) => {
    app.get('/api/planted/throws', () => {
      throw new Error('planted');
    });
    app.get('/api/planted/leaks', (_request, reply) => reply.send({ success: true, name: `${FOREIGN_NAME}0-13` }));
    app.get('/api/planted/empty', (_request, reply) => reply.code(400).send());
  };
  const operations = ['/api/planted/throws', '/api/planted/leaks', '/api/planted/empty'].map(planted);
  const often = [...operations, ...operations, ...operations];
  const options = { seed: SEED, plant, operations: often };
  const { failures } = await runFuzz({ ...options, requests: 60 });
  assert.deepEqual([...new Set(failures.map(({ what }) => what.replace(/, which.*/, '')))].sort(), [
    'answered 400 with nothing',
    'answered 500',
    `showed ${FOREIGN_NAME}0-13`,
  ]);
  const thrown = failures.find(({ what }) => what === 'answered 500');
  assert.ok(thrown);
  const report = describeFailure(SEED, thrown);
  assert.match(report, /Error: planted/);
  assert.match(report, new RegExp(`npm run fuzz -- --seed ${SEED} --request ${thrown.number}$`));
  const again = await runFuzz({ ...options, requests: thrown.number });
  assert.ok(again.failures.some(({ number, what }) => number === thrown.number && what === 'answered 500'));
});
