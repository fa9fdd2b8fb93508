// Would the simulation notice? Each mutation takes one rule of the product away, in a copy of the sources, and runs seeds until
// one fails: npm run mutations. A mutation that no seed notices is a rule that the simulation does not check. The test beside
// it only holds that every mutation still fits the sources.

import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['src', 'test'];
const LINKED = ['migrations', 'node_modules', 'package.json', 'docs', 'bin'];
/** How many seeds may pass before one notices. */
const SEEDS = 200;

export type Mutation = {
  rule: string;
  file: string;
  /** Occurs once in the file. */
  code: string;
  instead: string;
};

export const MUTATIONS: Mutation[] = [
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
    code: 'return payBack(accounts, credit, debtOf(credit.credit), debtRecovered);',
    instead: 'return [];',
  },
  {
    rule: 'I30: after a restore the operator is asked first',
    file: 'src/commands/finish-restore.ts',
    code: 'const askedFirst = await requeryAfterRestore(tx, at);',
    instead: 'const askedFirst = 0;',
  },
  {
    rule: 'I31: the rows of a file are ordered once',
    file: 'src/payments/payout-files.ts',
    code: 'return sha256(',
    instead: 'return ((_rows: string) => sha256(String(Math.random())))(',
  },
  {
    rule: 'I32: nothing is sent for a suspended holder',
    file: 'src/payments/engine.ts',
    code: 'const isHeld = await isFrozen(ctx, transaction);',
    instead: 'const isHeld = false;',
  },
  {
    rule: 'I35: a receipt is used once',
    file: 'src/payments/receipts.ts',
    code: 'for (const candidate of used) await claimFromSuspense(tx, claimed, candidate, at);',
    instead: 'void used;',
  },
];

/** Whether the rule is in its file, once. */
export function fits({ file, code }: Mutation): boolean {
  return readFileSync(join(ROOT, file), 'utf8').split(code).length === 2;
}

async function tryAll(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-mutations-'));
  let missed = 0;
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(folder, name));
    for (const { rule, file, code, instead } of MUTATIONS) {
      const source = readFileSync(join(ROOT, file), 'utf8');
      writeFileSync(
        join(folder, file),
        source.replace(code, () => instead),
      );
      const { exit, text } = await run(folder, ['--seeds', String(SEEDS), '--stop']);
      writeFileSync(join(folder, file), source);
      const noticed = exit === 1 && text.includes('broke what must hold');
      if (!noticed) missed++;
      console.log(`${noticed ? 'noticed' : 'MISSED '}  ${rule}  ${/^Seed \d+/m.exec(text)?.[0] ?? ''}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return missed;
}

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

if (import.meta.main) process.exitCode = (await tryAll()) > 0 ? 1 : 0;
