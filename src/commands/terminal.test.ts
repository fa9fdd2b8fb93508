// What commands print: texts that strangers and merchants wrote cannot change what a person sees beside them.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createTerminal, table } from './terminal.ts';

const ESCAPE = '\u001b';

/** What `print` writes to a terminal, or to a file. */
function printed(t: TestContext, isTerminal: boolean, text: string): string {
  let written = '';
  const before = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY');
  Object.defineProperty(process.stdout, 'isTTY', { value: isTerminal, configurable: true });
  const write = t.mock.method(process.stdout, 'write', (chunk: string) => {
    written += chunk;
    return true;
  });
  try {
    const terminal = createTerminal({});
    terminal.out(text.replace('<b>', terminal.bold('BOLD')));
  } finally {
    write.mock.restore();
    if (before) Object.defineProperty(process.stdout, 'isTTY', before);
    else Reflect.deleteProperty(process.stdout, 'isTTY');
  }
  return written;
}

test('a name moves no cursor, deletes no line and turns none around', (t) => {
  const names = [`${ESCAPE}[1A${ESCAPE}[2Kpaid`, 'a\rb', '\u009b2J', `${ESCAPE}]0;title\u0007`, '\u202e000,1', 'x\b\b'];
  const shown = printed(
    t,
    true,
    table(
      ['Payee'],
      names.map((name) => [name]),
    ),
  );
  assert.doesNotMatch(shown, /[\u001b\r\u009b\u0007\b\u202e]/);
  assert.equal(shown.split('\n').length, names.length + 2);
});

test('a name with a line end makes no row of its own', () => {
  assert.equal(table(['Ref', 'Payee'], [['TX_1', 'Ada\r\nTX_2  Obi']]), 'Ref   Payee\nTX_1  Ada TX_2  Obi');
});

test('line ends, tabs, letters of every language and bold stay', (t) => {
  const text = 'a\tb\r\nWanjikũ Côte 李 ١٢\n<b>';
  assert.equal(printed(t, true, text), `${text.replace('<b>', `${ESCAPE}[1mBOLD${ESCAPE}[22m`)}\n`);
});

test('a file gets what is stored', (t) => {
  assert.equal(printed(t, false, `a${ESCAPE}[2Jb\u202e`), `a${ESCAPE}[2Jb\u202e\n`);
});
