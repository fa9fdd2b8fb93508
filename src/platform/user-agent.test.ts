// Devices in plain words, as the list of sessions and notices show them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUserAgent } from './user-agent.ts';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const DEVICES = [
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36`, 'Chrome', 'Windows'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0`, 'Edge', 'Windows'],
  [`Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/141.0.0.0 Mobile Safari/537.36`, 'Chrome', 'Android'],
  [`Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/112.0 Mobile Safari/537.36 OPR/76.2`, 'Opera', 'Android'],
  [
    `Mozilla/5.0 (Linux; Android 13; SM-A135F) ${WEBKIT} SamsungBrowser/22.0 Chrome/111.0`,
    'Samsung Internet',
    'Android',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox', 'Linux'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15',
    'Safari',
    'macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1',
    'Safari',
    'iPhone',
  ],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) CriOS/141.0 Mobile/15E148 Safari/604.1', 'Chrome', 'iPhone'],
  ['curl/8.5.0', null, null],
  ['', null, null],
] as const;

test('names the browser and the system of common devices, and nothing it does not know', () => {
  for (const [header, browser, system] of DEVICES) assert.deepEqual(readUserAgent(header), { browser, system }, header);
});

test('reads as much of a header as sessions keep of it, and no more', () => {
  const browser = ' Firefox/140.0';
  assert.equal(readUserAgent(`${'x'.repeat(300 - browser.length)}${browser}`).browser, 'Firefox');
  assert.equal(readUserAgent(`${'x'.repeat(300)}${browser}`).browser, null);
});
