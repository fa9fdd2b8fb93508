// Would the simulation notice? Each mutation takes one rule of the product away, in a copy of the sources, and runs seeds until
// one fails. A mutation that no seed notices is a rule that the simulation does not check.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['src', 'test'];
const LINKED = ['migrations', 'node_modules', 'package.json', 'docs', 'bin'];
/** How many seeds may pass before one notices. */
const SEEDS = 60;

type Mutation = {
  rule: string;
  file: string;
  /** Occurs once in the file. */
  code: string;
  instead: string;
  /** A seed near one that is known to notice, to save time. */
  from?: number;
};

const MUTATIONS: Mutation[] = [
  {
    rule: 'I23: what was refunded is counted',
    file: 'src/payments/refund-orders.ts',
    code: 'refunded: totals.refunded + amount,',
    instead: 'refunded: totals.refunded,',
  },
  {
    rule: 'I24: what an operator says about unknown references is kept',
    file: 'src/payments/operator-callbacks.ts',
    code: '  await holdUnmatched(tx, ctx, unmatched);',
    instead: '  void unmatched;',
  },
  {
    rule: 'I24: money that left is not held in suspense',
    file: 'src/payments/unmatched-reports.ts',
    code: "observation.state === 'succeeded' && report.direction === 'collection'",
    instead: "observation.state === 'succeeded'",
  },
  {
    rule: 'I25: the id of an event follows from its fact',
    file: 'src/callbacks/events.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
    code: '`${event.type}|${SEQUENCE}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
    instead: '`${event.type}|${Math.random()}`',
  },
  {
    rule: 'I26: a debt is recovered from the next credits',
    file: 'src/ledger/ledger.ts',
    code: '  if (amount <= 0n) return [];',
    instead: '  if (amount <= 0n || debt < 0n) return [];',
  },
  {
    rule: 'I30: after a restore the operator is asked first',
    file: 'src/commands/finish-restore.ts',
    code: 'askedFirst: await requeryAfterRestore(tx, at)',
    instead: 'askedFirst: 0',
  },
  {
    rule: 'I31: the rows of a file are ordered once',
    file: 'src/payments/payout-files.ts',
    code: "const hash = createHash('sha256');",
    instead: "const hash = createHash('sha256').update(String(Math.random()));",
  },
  {
    rule: 'I32: nothing is sent for a suspended holder',
    file: 'src/payments/engine.ts',
    code: 'if (await isFrozen(ctx, transaction))',
    instead: 'if (false)',
  },
  {
    rule: 'I35: a receipt is used once',
    file: 'src/payments/receipts.ts',
    code: 'for (const candidate of used) await claimFromSuspense(tx, claimed, candidate, at);',
    instead: 'void used;',
  },
];

describe('the simulation notices what is missing', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'simbi-mutations-'));
    for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(folder, name));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const { rule, file, code, instead, from = 1 } of MUTATIONS)
    test(rule, async () => {
      const source = readFileSync(join(ROOT, file), 'utf8');
      assert.equal(source.split(code).length, 2, `the code of this rule is no longer once in ${file}`);
      writeFileSync(
        join(folder, file),
        source.replace(code, () => instead),
      );
      try {
        const { exit, text } = await run(folder, ['--from', String(from), '--seeds', String(SEEDS), '--stop']);
        assert.equal(exit, 1, `no seed noticed:\n${text}`);
        assert.match(text, /broke what must hold/);
        console.log(
          rule,
          '\n',
          text
            .split('\n')
            .filter((l) => /^Seed|^ {2}- /.test(l))
            .slice(0, 3)
            .join('\n')
            .slice(0, 500),
        );
      } finally {
        writeFileSync(join(folder, file), source);
      }
    });
});

function run(folder: string, args: string[]): Promise<{ exit: number | null; text: string }> {
  const child = spawn(process.execPath, [join(folder, 'test/simulation/run.ts'), ...args], { cwd: folder });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    text += String(chunk);
  });
  return new Promise((done) => child.on('close', (exit) => done({ exit, text })));
}
