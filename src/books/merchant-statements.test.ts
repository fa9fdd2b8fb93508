// Statements of merchants: they add up to the ledger to the cent in every format, count by the holder's days, and are refused when
// they do not add up.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import yauzl from 'yauzl';
import { createTestContext } from '../../test/harness.ts';
import { tamper } from '../../test/tamper.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { createHolder, type Holder } from '../holders/holders.ts';
import { post, postEach } from '../ledger/ledger.ts';
import {
  collectionReversed,
  collectionSucceeded,
  disputeLost,
  disputeOpened,
  disputeWon,
  payoutPosted,
  payoutReleased,
  payoutReserved,
  payoutReversed,
  refundPosted,
  refundReserved,
  reserveHeld,
  reserveReleased,
  reserveUsed,
  sandboxTopUp,
  type Transfer,
} from '../ledger/postings.ts';
import { createHolderUuid } from '../platform/ids.ts';
import { MAX_PDF_LINES, type StatementFormat, writeStatement } from './merchant-statement-files.ts';
import { winAnsi } from './merchant-statement-pdf.ts';
import type { StatementLanguage } from './merchant-statement-texts.ts';
import { type MerchantStatement, prepareStatement, sumTotals } from './merchant-statements.ts';
import {
  listMonthlyStatements,
  makeMonthlyStatements,
  missingMonths,
  monthOf,
  pastMonth,
  readMonthlyCsv,
} from './monthly-statements.ts';
import { writeWorkbook } from './xlsx-writer.ts';

/** More by hand: STATEMENT_LINES=1000000. */
const MANY_LINES = Number(process.env.STATEMENT_LINES ?? 6_000);
const RAIL = 'sandbox';

let ctx: Awaited<ReturnType<typeof createTestContext>>;
before(async () => {
  ctx = await createTestContext();
});
after(() => ctx.close());

const newHolder = (zone = 'Africa/Nairobi') => createHolder(ctx, COMMAND_LINE, 'Café Ñandú & Söhne', zone);
const idOf = (holder: Holder) => createHolderUuid(ctx.clock.millis(), holder.id);

async function book(transfers: readonly Transfer[], at = ctx.clock.now()): Promise<void> {
  await ctx.db.transaction((tx) => post(tx, transfers, at));
}

function fact(holder: Holder, amount: bigint, fee: bigint, currency = 'KES') {
  return { holderId: holder.id, transactionId: idOf(holder), currency, amount, fee, rail: RAIL };
}

const read = async (statement: MerchantStatement, format: StatementFormat, language: StatementLanguage = 'en') =>
  buffer(writeStatement(ctx, statement, format, language).content);

type CsvLine = Record<string, string>;
const csvOf = async (statement: MerchantStatement) =>
  parse(await read(statement, 'csv'), { columns: true }) as CsvLine[];

/** Hundredths of a decimal as the files write it. */
const cents = (text: string | undefined) => {
  const [whole = '0', fraction = ''] = (text ?? '').replace('-', '').split('.');
  const amount = BigInt(whole || '0') * 100n + BigInt(fraction.padEnd(2, '0'));
  return text?.startsWith('-') ? -amount : amount;
};
const sumOf = (lines: readonly CsvLine[], column: string) => lines.reduce((sum, line) => sum + cents(line[column]), 0n);

/** One of everything that moves a wallet, on 2 March. */
async function busyDay(holder: Holder): Promise<void> {
  await book(sandboxTopUp(fact(holder, 100_000n, 0n)));
  const kept = fact(holder, 250_000n, 2_525n);
  const reversed = fact(holder, 9_999n, 101n);
  await book(collectionSucceeded(kept));
  await book(collectionSucceeded(reversed));
  await book(collectionReversed(reversed));
  // The whole amount is the fee: nothing reaches the wallet, and the statement still shows it.
  await book(collectionSucceeded(fact(holder, 100n, 100n)));
  const payout = fact(holder, 40_000n, 333n);
  await book(payoutReserved(payout));
  await book(payoutPosted(payout));
  const released = fact(holder, 7_000n, 50n);
  await book(payoutReserved(released));
  await book(payoutReleased(released));
  const returned = fact(holder, 5_000n, 20n);
  await book(payoutReserved(returned));
  await book(payoutPosted(returned));
  await book(payoutReversed(returned));
  const refund = { ...fact(holder, 50_000n, 0n), feeReturned: 505n };
  await book(refundReserved(refund));
  await book(refundPosted(refund));
  await book(payoutReserved(fact(holder, 1_000n, 10n)));
}

const MARCH = { currency: 'KES', firstDay: '2026-03-01', lastDay: '2026-03-31' };

describe('a statement', () => {
  test('opening + net = closing, by line, by kind and for all, with gross and fee of each', async () => {
    const holder = await newHolder();
    await busyDay(holder);
    const statement = await prepareStatement(ctx, holder, MARCH);
    assert.deepEqual([statement.opening, statement.reserved], [0n, 1_010n]);
    const totals = Object.fromEntries(
      statement.totals.map(({ kind, count, gross, fee, net }) => [kind, [count, gross, fee, net]]),
    );
    assert.deepEqual(totals, {
      top_up: [1, 100_000n, 0n, 100_000n],
      collection: [3, 260_099n, -2_726n, 257_373n],
      collection_reversal: [1, -9_999n, 101n, -9_898n],
      payout: [2, -45_000n, -353n, -45_353n],
      payout_reversal: [1, 5_000n, 20n, 5_020n],
      refund: [1, -50_000n, 505n, -49_495n],
    });
    const rows = await csvOf(statement);
    const lines = rows.filter((row) => row.record === 'line');
    assert.equal(lines.length, statement.lines);
    let balance = statement.opening;
    for (const line of lines) {
      balance += cents(line.net);
      assert.equal(cents(line.balance), balance);
      assert.equal(cents(line.gross) + cents(line.fee), cents(line.net));
    }
    assert.equal(balance, statement.closing);
    for (const column of ['gross', 'fee', 'net', 'count'])
      assert.equal(
        sumOf(lines, column),
        sumOf(
          rows.filter((row) => row.record === 'total'),
          column,
        ),
        column,
      );
    assert.equal(cents(rows.at(-1)?.balance), statement.closing);
  });

  test('held money has lines of its own, and a lost dispute one even where the wallet had lost it before', async () => {
    const holder = await newHolder();
    await book(sandboxTopUp(fact(holder, 100_000n, 0n)));
    const held = fact(holder, 50_000n, 500n);
    await book([...collectionSucceeded(held), ...reserveHeld({ ...held, amount: 5_000n })]);
    await book(reserveUsed({ ...fact(holder, 1_000n, 0n) }, 'order'));
    await book(reserveReleased({ ...held, amount: 4_000n }));
    const won = { ...fact(holder, 20_000n, 0n), short: 0n };
    await book(disputeOpened(won));
    await book(disputeWon(won));
    const lost = { ...fact(holder, 30_000n, 0n), short: 0n };
    await book(disputeOpened(lost));
    await book(disputeLost({ ...lost, feeReturned: 0n }));
    const lostWithFee = { ...fact(holder, 9_900n, 0n), short: 0n };
    await book(disputeOpened(lostWithFee));
    await book(disputeLost({ ...lostWithFee, feeReturned: 100n }));
    const statement = await prepareStatement(ctx, holder, MARCH);
    assert.deepEqual(
      statement.totals.map(({ kind, count, gross, fee, net }) => [kind, count, gross, fee, net]),
      [
        ['collection', 1, 50_000n, -500n, 49_500n],
        ['reserve_hold', 1, -5_000n, 0n, -5_000n],
        ['reserve_release', 1, 4_000n, 0n, 4_000n],
        ['reserve_use', 1, 1_000n, 0n, 1_000n],
        ['dispute_hold', 3, -59_900n, 0n, -59_900n],
        ['dispute_won', 1, 20_000n, 0n, 20_000n],
        ['dispute_lost', 2, -100n, 100n, 0n],
        ['top_up', 1, 100_000n, 0n, 100_000n],
      ],
    );
    assert.equal(sumTotals(statement.totals).net, statement.closing);
    const lines = (await csvOf(statement)).filter((row) => row.record === 'line');
    assert.deepEqual(
      lines.filter((line) => line.kind === 'dispute_lost').map((line) => [line.gross, line.fee, line.net]),
      [
        ['0.00', '0.00', '0.00'],
        ['-1.00', '1.00', '0.00'],
      ],
    );
  });

  test('a payment counts on the day it was posted, by the clock of the holder', async () => {
    const holder = await newHolder('Africa/Nairobi');
    // 23:30 and 00:30 in Nairobi, both on 2 March in UTC.
    await book(collectionSucceeded(fact(holder, 1_000n, 10n)), new Date('2026-03-02T20:30:00Z'));
    await book(collectionSucceeded(fact(holder, 2_000n, 20n)), new Date('2026-03-02T21:30:00Z'));
    const day = (of: string) => prepareStatement(ctx, holder, { currency: 'KES', firstDay: of, lastDay: of });
    const [second, third] = [await day('2026-03-02'), await day('2026-03-03')];
    assert.deepEqual([second.opening, second.lines, second.closing], [0n, 1, 990n]);
    assert.deepEqual([third.opening, third.lines, third.closing], [990n, 1, 2_970n]);
    assert.equal((await csvOf(third)).find((row) => row.record === 'line')?.date, '2026-03-03 00:30:00');
  });

  test('what is posted while it is read belongs to the next one', async () => {
    const holder = await newHolder();
    await busyDay(holder);
    const statement = await prepareStatement(ctx, holder, MARCH);
    await book(collectionSucceeded(fact(holder, 500n, 5n)));
    const rows = await csvOf(statement);
    assert.equal(rows.filter((row) => row.record === 'line').length, statement.lines);
    assert.equal(cents(rows.at(-1)?.balance), statement.closing);
  });

  test('one that does not add up to the ledger is refused and logged', async () => {
    const holder = await newHolder();
    await busyDay(holder);
    await tamper(
      ctx.ownerDb,
      `update ledger_transfers set amount = amount + 1 where holder_id = $1 and kind = 'collection'`,
      [holder.id],
    );
    const logged: unknown[] = [];
    const log = { ...ctx.log, error: (about: unknown) => void logged.push(about) } as unknown as typeof ctx.log;
    await assert.rejects(prepareStatement({ ...ctx, log }, holder, MARCH), { name: 'StatementError' });
    assert.equal(logged.length, 1);
  });

  test('has no wallet of another holder, no wrong days and no endless ones', async () => {
    const holder = await newHolder();
    await assert.rejects(prepareStatement(ctx, holder, MARCH), { code: 'not_found' });
    await book(sandboxTopUp(fact(holder, 100n, 0n)));
    const wrong = { ...MARCH, lastDay: '2026-02-28' };
    await assert.rejects(prepareStatement(ctx, holder, wrong), { code: 'invalid_params' });
    const endless = { ...MARCH, lastDay: '2999-02-28' };
    await assert.rejects(prepareStatement(ctx, holder, endless), { code: 'invalid_params' });
  });
});

/** The files of a zip archive. */
function unzip(bytes: Buffer): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  return new Promise((resolve, reject) => {
    yauzl.fromBuffer(bytes, { lazyEntries: true }, (error, zip) => {
      if (error) return reject(error);
      zip.on('entry', (entry) =>
        zip.openReadStream(entry, (failed, stream) => {
          if (failed) return reject(failed);
          void buffer(stream).then((content) => {
            files.set(entry.fileName, content.toString('utf8'));
            zip.readEntry();
          }, reject);
        }),
      );
      zip.on('end', () => resolve(files));
      zip.on('error', reject);
      zip.readEntry();
    });
  });
}

/** What a PDF shows, one piece of text after the other. */
function pdfText(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const streams = [...text.matchAll(/\/FlateDecode\n>>\nstream\n([\s\S]*?)\nendstream/g)];
  return streams
    .map(([, packed = '']) => inflateSync(Buffer.from(packed, 'latin1')).toString('latin1'))
    .flatMap((page) => [...page.matchAll(/\[((?:<[0-9a-f]*>|[^\]<])*)\] TJ/g)])
    .map(([, parts = '']) => [...parts.matchAll(/<([0-9a-f]*)>/g)].map(([, hex = '']) => Buffer.from(hex, 'hex')))
    .map((parts) => Buffer.concat(parts).toString('latin1'))
    .join('\n');
}

describe('files', () => {
  test('XLSX has numbers with the decimals of the currency, dates and a heading that stays', async () => {
    const holder = await newHolder();
    await busyDay(holder);
    const statement = await prepareStatement(ctx, holder, MARCH);
    const files = await unzip(await read(statement, 'xlsx', 'fr'));
    const sheet = files.get('xl/worksheets/sheet1.xml') ?? '';
    assert.match(sheet, /<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"\/>/);
    assert.match(files.get('xl/styles.xml') ?? '', /formatCode="#,##0\.00"/);
    assert.match(sheet, />Référence</);
    const cells = (column: string) =>
      [...sheet.matchAll(new RegExp(`<c r="${column}\\d+" s="2"><v>([^<]*)</v>`, 'g'))].map(([, value]) =>
        cents(value),
      );
    const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n);
    assert.equal(cells('H').length, statement.lines);
    assert.equal(statement.opening + sum(cells('H')), statement.closing);
    assert.equal(sum(cells('F')) + sum(cells('G')), sum(cells('H')));
    // 2 March 2026, noon in Nairobi: 46083.5 days after the first of the format.
    assert.match(sheet, /<c r="A3" s="4"><v>46083\.5<\/v><\/c>/);
    assert.match(files.get('xl/worksheets/sheet2.xml') ?? '', new RegExp(`<v>${statement.lines}</v>`));
  });

  test('a currency without decimals has none in any file', async () => {
    const holder = await newHolder('Africa/Abidjan');
    await book(collectionSucceeded(fact(holder, 500_000n, 5_000n, 'XOF')));
    const statement = await prepareStatement(ctx, holder, { ...MARCH, currency: 'XOF' });
    const [, line] = await csvOf(statement);
    assert.deepEqual([line?.gross, line?.fee, line?.net, line?.balance], ['5000', '-50', '4950', '4950']);
    assert.match((await unzip(await read(statement, 'xlsx'))).get('xl/styles.xml') ?? '', /formatCode="#,##0"/);
  });

  test('PDF says whose it is, when, how much and which page, with accents', async () => {
    const holder = await newHolder();
    await busyDay(holder);
    await book(Array.from({ length: 80 }, () => collectionSucceeded(fact(holder, 1_000n, 10n))).flat());
    const statement = await prepareStatement(ctx, holder, MARCH);
    const text = pdfText(await read(statement, 'pdf', 'fr'));
    for (const part of ['Simbi', 'Relevé KES', 'Café Ñandú & Söhne', '2026-03-01', 'Solde initial', 'Solde final'])
      assert.ok(text.includes(part), `${part} in\n${text.slice(0, 2_000)}`);
    assert.match(text, /Page 1 sur (\d+)[\s\S]*Page \1 sur \1/);
    const closing = `${statement.closing / 100n}`.replace(/\B(?=(?:\d{3})+$)/g, '\u00a0');
    const cent = `${statement.closing % 100n}`.padStart(2, '0');
    assert.ok(text.includes(`${closing},${cent}`), 'as every page in French prints it');
    for (const [language, mark] of [
      ['en', '.'],
      ['pt', ','],
      ['sw', '.'],
    ] as const)
      assert.ok(pdfText(await read(statement, 'pdf', language)).includes(`${closing}${mark}${cent}`), language);
  });

  test('letters that the fonts lack become the nearest one', () => {
    assert.equal(winAnsi('Ɛdɔ Ŋmãa Ọṣun Łódź'), 'Edo Ngmãa Osun ?ódz');
    assert.equal(winAnsi('Café – 5\u202f000 € ቡና'), 'Café – 5\u00a0000 € ??');
    assert.equal(winAnsi('ab\u0000c\n'), 'abc');
  });

  test('a PDF has a limit, and says which', async () => {
    const holder = await newHolder();
    await book(sandboxTopUp(fact(holder, 100n, 0n)));
    const statement = { ...(await prepareStatement(ctx, holder, MARCH)), lines: MAX_PDF_LINES + 1 };
    assert.throws(() => writeStatement(ctx, statement, 'pdf', 'en'), {
      message: /A PDF file has at most 10000 lines, and this period has 10001\. Choose a shorter period, or CSV\./,
    });
  });

  for (const format of ['csv', 'xlsx', 'pdf'] as const)
    test(`${format}: a file whose lines do not come to the closing balance breaks off`, async () => {
      const holder = await newHolder();
      await book(sandboxTopUp(fact(holder, 100n, 0n)));
      const statement = await prepareStatement(ctx, holder, MARCH);
      const wrong = { ...statement, closing: statement.closing + 1n };
      const log = { ...ctx.log, error: () => undefined } as unknown as typeof ctx.log;
      await assert.rejects(buffer(writeStatement({ ...ctx, log }, wrong, format, 'en').content), {
        name: 'StatementError',
      });
    });

  test('text that payers gave is never a formula', async () => {
    async function* rows() {
      yield await Promise.resolve([['=1+1', '+254', '@x', '<b>&"\u0000', "O'Neil"]]);
    }
    const book = writeWorkbook([{ name: 'A/B', head: ['=x'], widths: [9], rows }], 2);
    const sheet = (await unzip(await buffer(book))).get('xl/worksheets/sheet1.xml') ?? '';
    const texts = [...sheet.matchAll(/<t [^>]*>([^<]*)<\/t>/g)].map(([, text]) => text);
    assert.deepEqual(texts, ["'=x", "'=1+1", '+254', "'@x", '&lt;b&gt;&amp;&quot;', "O'Neil"]);
    assert.ok(!sheet.includes('<f>'));
  });
});

describe('many lines', () => {
  let holder: Holder;
  let statement: MerchantStatement;

  before(async () => {
    holder = await newHolder();
    const start = new Date('2026-03-02T06:00:00Z').getTime();
    for (let done = 0; done < MANY_LINES; done += 500) {
      const groups = Array.from({ length: Math.min(500, MANY_LINES - done) }, () =>
        collectionSucceeded(fact(holder, 1_000n, 15n)),
      );
      await ctx.db.transaction((tx) => postEach(tx, groups, new Date(start + done)));
    }
    statement = await prepareStatement(ctx, holder, MARCH);
  });

  const lines = async (content: Readable) => {
    let count = 0;
    for await (const chunk of content as AsyncIterable<Buffer>)
      count += chunk.toString('latin1').split('"line"').length - 1;
    return count;
  };

  test('all of them are written, across pages, each with its fee', async () => {
    const count = BigInt(MANY_LINES);
    assert.deepEqual(statement.totals, [
      { kind: 'collection', count: MANY_LINES, gross: count * 1_000n, fee: count * -15n, net: count * 985n },
    ]);
    assert.equal(await lines(writeStatement(ctx, statement, 'csv', 'en').content), MANY_LINES);
  });

  for (const format of ['csv', 'xlsx'] as const)
    test(`${format}: nothing is read that the receiver has not asked for`, async () => {
      const before = ctx.db.counters.statements;
      const { content } = writeStatement(ctx, statement, format, 'en');
      const iterator = content[Symbol.asyncIterator]();
      await iterator.next();
      // Whatever it reads by itself, it reads before the event loop is idle three times.
      for (let turn = 0; turn < 3; turn++) await ctx.ownerDb.query('select 1');
      const used = ctx.db.counters.statements - before;
      assert.ok(used <= 3, `${used} statements for the first bytes`);
      content.destroy();
    });
});

describe('monthly statements', () => {
  test('the past month of each wallet is made once, with the hash of its file, and stays', async () => {
    const holder = await newHolder();
    await busyDay(holder);
    ctx.clock.set(new Date('2026-03-31T21:30:00Z'));
    while ((await makeMonthlyStatements(ctx)) > 0);
    assert.deepEqual(
      await listMonthlyStatements(ctx.db, holder.id),
      [],
      'an hour after midnight in Nairobi, not before',
    );
    ctx.clock.set(new Date('2026-03-31T22:00:00Z'));
    while ((await makeMonthlyStatements(ctx)) > 0);
    const [made, ...others] = await listMonthlyStatements(ctx.db, holder.id);
    assert.ok(made && others.length === 0);
    assert.deepEqual([made.month, made.currency, made.time_zone], ['2026-03-01', 'KES', 'Africa/Nairobi']);
    assert.equal(made.opening + made.net, made.closing);
    const parts: Buffer[] = [];
    for await (const part of readMonthlyCsv(ctx.db, holder.id, made)) parts.push(part);
    const file = Buffer.concat(parts);
    assert.equal(createHash('sha256').update(file).digest('hex'), made.sha256);
    assert.equal(BigInt(file.length), made.bytes);
    assert.deepEqual(file, await read(await prepareStatement(ctx, holder, MARCH), 'csv'));
    await assert.rejects(ctx.ownerDb.query('delete from monthly_statement_parts'), /append/i);
  });

  test('a month begins where the one before ended, also after the holder has chosen another zone', async () => {
    ctx.clock.set(new Date('2026-04-30T22:30:00Z'));
    const holder = await newHolder();
    await book(sandboxTopUp(fact(holder, 100n, 0n)));
    ctx.clock.set(new Date('2026-05-31T21:30:00Z'));
    // June in Nairobi, May in UTC.
    await book(sandboxTopUp(fact(holder, 7_000n, 0n)));
    ctx.clock.set(new Date('2026-05-31T23:30:00Z'));
    while ((await makeMonthlyStatements(ctx)) > 0);
    await ctx.db.query(`update holders set time_zone = 'UTC' where id = $1`, [holder.id]);
    ctx.clock.set(new Date('2026-07-01T02:00:00Z'));
    while ((await makeMonthlyStatements(ctx)) > 0);
    const [june, may] = await listMonthlyStatements(ctx.db, holder.id);
    assert.deepEqual([may?.time_zone, june?.time_zone], ['Africa/Nairobi', 'UTC']);
    assert.deepEqual([may?.closing, june?.opening, june?.closing], [100n, 100n, 7_100n]);
    // In another format it is the same month as in the file that was stored.
    for (const stored of [may, june]) {
      const then = { ...holder, time_zone: stored?.time_zone ?? '' };
      const made = await prepareStatement(ctx, then, await monthOf(ctx.db, then, 'KES', stored?.month ?? ''));
      assert.deepEqual([made.opening, made.closing], [stored?.opening, stored?.closing]);
    }
  });

  test('a holder whose month cannot be told does not keep others from their statements', async () => {
    ctx.clock.set(new Date('2026-04-30T22:30:00Z'));
    const [older, newer] = [await newHolder(), await newHolder()];
    for (const holder of [older, newer]) await book(sandboxTopUp(fact(holder, 100n, 0n)));
    // The newest holder comes first. Its zone is one that this version of Node does not know.
    await ctx.db.query(`update holders set time_zone = 'Africa/Nowhere' where id = $1`, [newer.id]);
    ctx.clock.set(new Date('2026-05-31T23:30:00Z'));
    await assert.rejects(makeMonthlyStatements(ctx), /Africa\/Nowhere/);
    const made = await listMonthlyStatements(ctx.db, older.id);
    assert.deepEqual(
      made.map(({ month }) => month),
      ['2026-05-01'],
    );
    await ctx.db.query(`update holders set time_zone = 'UTC' where id = $1`, [newer.id]);
  });

  test('a month that was empty is not looked at in every pass', async () => {
    ctx.clock.set(new Date('2026-08-05T09:00:00Z'));
    const holder = await newHolder();
    await book(sandboxTopUp(fact(holder, 500n, 0n)));
    const statementsOf = async () => {
      const before = ctx.db.counters.statements;
      assert.equal(await makeMonthlyStatements(ctx), 0);
      return ctx.db.counters.statements - before;
    };
    while ((await makeMonthlyStatements(ctx)) > 0);
    const [{ count } = { count: 0 }] = await ctx.db.query<{ count: number }>(
      'select count(*)::int as count from holders',
    );
    assert.equal(await statementsOf(), 1 + 2 * count, 'the holders; then months and wallets of each');
  });

  test('the months that passed while the gateway was stopped are made too, the oldest first', async () => {
    ctx.clock.set(new Date('2026-08-10T09:00:00Z'));
    const holder = await newHolder();
    await book(sandboxTopUp(fact(holder, 500n, 0n)));
    ctx.clock.set(new Date('2026-09-02T00:00:00Z'));
    while ((await makeMonthlyStatements(ctx)) > 0);
    await book(sandboxTopUp(fact(holder, 70n, 0n)));
    // Nothing ran from here to the middle of December.
    ctx.clock.set(new Date('2026-12-15T00:00:00Z'));
    while ((await makeMonthlyStatements(ctx)) > 0);
    const made = await listMonthlyStatements(ctx.db, holder.id);
    assert.deepEqual(
      made.map(({ month, opening, closing, lines }) => [month, opening, closing, lines]),
      [
        ['2026-11-01', 570n, 570n, 0],
        ['2026-10-01', 570n, 570n, 0],
        ['2026-09-01', 500n, 570n, 1],
        ['2026-08-01', 0n, 500n, 1],
      ],
    );
  });

  test('the first statement of a wallet is that of the month in which it first had money', async () => {
    ctx.clock.set(new Date('2026-01-31T22:30:00Z'));
    const holder = await newHolder();
    // February in Nairobi.
    await book(sandboxTopUp(fact(holder, 500n, 0n)));
    // Nothing ran from here to the end of May, and no statement was ever made.
    ctx.clock.set(new Date('2026-05-20T09:00:00Z'));
    await book(sandboxTopUp(fact(holder, 900n, 0n, 'UGX')));
    while ((await makeMonthlyStatements(ctx)) > 0);
    const made = await listMonthlyStatements(ctx.db, holder.id);
    assert.deepEqual(
      made.map(({ currency, month, opening, closing, lines }) => [currency, month, opening, closing, lines]),
      [
        ['KES', '2026-04-01', 500n, 500n, 0],
        ['KES', '2026-03-01', 500n, 500n, 0],
        ['KES', '2026-02-01', 0n, 500n, 1],
      ],
    );
  });

  test('at most a year of them, and only those after the first', () => {
    const [august, past] = ['2026-08-01', '2026-11-01'];
    assert.deepEqual(missingMonths([], past, past), [past]);
    assert.deepEqual(missingMonths([], august, past), [august, '2026-09-01', '2026-10-01', past]);
    assert.deepEqual(missingMonths([], '2026-12-01', past), []);
    assert.deepEqual(missingMonths([past, august], past, past), ['2026-09-01', '2026-10-01']);
    assert.deepEqual(missingMonths(['2020-01-01'], past, past).at(0), '2025-12-01');
    assert.equal(missingMonths(['2020-01-01'], past, past).length, 12);
    assert.equal(missingMonths([], '2020-01-01', past).length, 12);
  });

  test('a wallet without money has none, and the month before January is December', async () => {
    assert.deepEqual(pastMonth('UTC', new Date('2026-01-05T00:00:00Z')), {
      firstDay: '2025-12-01',
      lastDay: '2025-12-31',
    });
  });
});
