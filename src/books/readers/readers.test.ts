// Statements of each operator, as their files were seen: what each of their rows becomes.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  createStatementFolder,
  readStatement,
  type StatementFolder,
  safaricomStatement,
} from '../../../test/statements.ts';
import type { NewLine } from '../statement-lines.ts';

let folder: StatementFolder;
before(async () => {
  folder = await createStatementFolder();
});
after(() => folder.close());

/** The line in short: what the tests below compare. */
const short = (line: NewLine | undefined) =>
  line && [
    line.occurredAt.toISOString(),
    line.kind,
    line.direction,
    line.state,
    line.gross,
    line.fee,
    line.currency,
    line.receipt,
    line.reference,
    line.msisdn,
    line.balance,
  ];

describe('Safaricom', () => {
  const LINES = [
    'SKE1AAAAA3,2026-11-14 10:00:02,2026-11-14 10:00:01,Pay merchant Charge,Completed,,-5.00,"1,995.00",true,Charge,,SKE1AAAAA2,',
    'SKE1AAAAA2,14-11-2026 10:00:00,14-11-2026 09:59:58,Pay Bill from 2547****678 - JANE DOE Acc. INV-7,Completed,' +
      '"2,000.00",,"2,000.00",true,Pay Bill,2547****678 - JANE DOE,,INV-7',
    'SKE1AAAAA2,14/11/2026 10:00:00,,Pay Bill Charge,Completed,,(22.00),0.00,true,Charge,,,',
    'SKE1AAAAA1,2026-11-14 09:00:00,2026-11-14 09:00:00,Business Payment to 254708374149 - JOHN,Failed,,50.00,0.00,false,' +
      'Business Payment,254708374149 - JOHN,,',
  ];

  test('title rows and totals are no lines; charges share or follow the receipt; failed rows stay', async () => {
    const { format, lines, problems } = await readStatement(await folder.write('s1.csv', safaricomStatement(LINES)));
    assert.equal(format, 'safaricom');
    assert.deepEqual(problems, []);
    assert.deepEqual(lines.map(short), [
      [
        '2026-11-14T07:00:02.000Z',
        'fee',
        'out',
        'succeeded',
        500n,
        null,
        'KES',
        'SKE1AAAAA3',
        'SKE1AAAAA2',
        null,
        199_500n,
      ],
      [
        '2026-11-14T07:00:00.000Z',
        'payment',
        'in',
        'succeeded',
        200_000n,
        null,
        'KES',
        'SKE1AAAAA2',
        'INV-7',
        '2547****678',
        200_000n,
      ],
      ['2026-11-14T07:00:00.000Z', 'fee', 'out', 'succeeded', 2_200n, null, 'KES', 'SKE1AAAAA2', null, null, 0n],
      [
        '2026-11-14T06:00:00.000Z',
        'payment',
        'out',
        'failed',
        5_000n,
        null,
        'KES',
        'SKE1AAAAA1',
        null,
        '254708374149',
        0n,
      ],
    ]);
  });

  test('CSV with CRLF, a mark and semicolons, in UTF-16 and Windows-1252, has the same lines', async () => {
    const text = safaricomStatement(LINES);
    const plain = await readStatement(await folder.write('plain.csv', text));
    const semicolons = text.replace(/("[^"]*")|,/g, (_, quoted?: string) => quoted ?? ';');
    const variants = {
      crlf: Buffer.from(text.replaceAll('\n', '\r\n')),
      cr: Buffer.from(text.replaceAll('\n', '\r')),
      mark: Buffer.from(`\ufeff${text}`),
      semicolons: Buffer.from(semicolons),
      utf16: Buffer.from(`\ufeff${text}`, 'utf16le'),
      utf16WithoutMark: Buffer.from(text, 'utf16le'),
    };
    for (const [name, content] of Object.entries(variants)) {
      const { lines } = await readStatement(await folder.write(`${name}.csv`, content));
      assert.deepEqual(
        lines.map(({ lineKey }) => lineKey),
        plain.lines.map(({ lineKey }) => lineKey),
        name,
      );
    }
    const windows = Buffer.from(text.replace('JANE DOE', 'RENÉE DOE'), 'latin1');
    const { lines } = await readStatement(await folder.write('windows.csv', windows));
    assert.match(lines[1]?.description ?? '', /RENÉE/);
  });

  test('a spreadsheet with dates as numbers has the lines of the CSV file', async () => {
    const csv = await readStatement(await folder.write('whole.csv', safaricomStatement(LINES)));
    const header = 'Receipt No.|Completion Time|Details|Transaction Status|Paid In|Withdrawn|Balance'.split('|');
    const path = await folder.writeXlsx('whole.xlsx', [
      ['Organization Name', 'Duka Ltd'],
      header,
      ['SKE1AAAAA3', 46340.41668981482, 'Pay merchant Charge', 'Completed', null, -5, 1995],
      [
        'SKE1AAAAA2',
        '2026-11-14 10:00:00',
        'Pay Bill from 2547****678 - JANE DOE Acc. INV-7',
        'Completed',
        2000,
        null,
        '2,000.00',
      ],
      ['SKE1AAAAA2', 46340.416666666664, 'Pay Bill Charge', 'Completed', null, 22, 0],
      ['SKE1AAAAA1', 46340.375, 'Business Payment to 254708374149 - JOHN', 'Failed', null, 50, 0],
      [null, null, null, 'Total', 2000, 27],
    ]);
    const { lines, problems } = await readStatement(path);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      lines.map(({ lineKey }) => lineKey),
      csv.lines.map(({ lineKey }) => lineKey),
    );
  });

  test('opening and closing balance are those of the oldest and the newest line', async () => {
    const { openingBalance, closingBalance } = await readStatement(
      await folder.write('ends.csv', safaricomStatement(LINES)),
    );
    assert.deepEqual([openingBalance, closingBalance], [2_200n, 199_500n]);
  });

  test('bad lines are named with their reason and stop nothing', async () => {
    const bad = [
      'SKX1,2026-13-45 10:00:00,,Pay Bill,Completed,10.00,,,,,,,',
      'SKX2,2026-11-14 10:00:00,,Pay Bill,Completed,ten,,,,,,,',
      'SKX3,2026-11-14 10:00:00,,Pay Bill,Vanished,10.00,,,,,,,',
      'SKX4,2026-11-14 10:00:00,,Pay Bill,Completed,,,,,,,,',
      'SKX5,2026-11-14 10:00:00,,"Pay Bill,Completed,10.00,,,,,,,,',
    ];
    const { lines, problems } = await readStatement(
      await folder.write('bad.csv', safaricomStatement([...bad, ...LINES])),
    );
    assert.equal(lines.length, LINES.length);
    assert.deepEqual(
      problems.map(({ lineNumber, reason }) => [lineNumber, reason]),
      [
        [6, '"2026-13-45 10:00:00" is not a time.'],
        [7, '"ten" is not an amount.'],
        [8, 'The status "Vanished" is not known.'],
        [9, 'The line has neither an amount paid in nor an amount withdrawn.'],
        [10, 'A quote in this line is never closed.'],
      ],
    );
    assert.equal(problems[4]?.raw, bad[4]);
  });

  test('equal lines of one file are told apart by their count; other columns do not make another line', async () => {
    const [line = ''] = LINES.slice(1);
    const twice = await readStatement(await folder.write('twice.csv', safaricomStatement([line, line])));
    const keys = twice.lines.map(({ lineKey }) => lineKey.toString('hex'));
    assert.equal(new Set(keys).size, 2);
    const masked = line.replaceAll('2547****678 - JANE DOE', '');
    const once = await readStatement(await folder.write('once.csv', safaricomStatement([masked])));
    assert.equal(once.lines[0]?.lineKey.toString('hex'), keys[0]);
  });
});

test('Telecel is not taken for Safaricom: it has a currency and Accra time', async () => {
  const header =
    'Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Currency,Paid In,Withdrawn,Balance';
  const text = `${header},Reason Type,Opposite Party
0000012345,2026-11-14 10:00:00,2026-11-14 10:00:00,Merchant Payment,Completed,GHS,12.50,,100.00,Merchant Payment,233201234567 - AMA`;
  const { format, lines } = await readStatement(await folder.write('telecel.csv', text));
  assert.equal(format, 'telecel');
  assert.deepEqual(short(lines[0]), [
    '2026-11-14T10:00:00.000Z',
    'payment',
    'in',
    'succeeded',
    1_250n,
    null,
    'GHS',
    '0000012345',
    null,
    '233201234567',
    10_000n,
  ]);
});

describe('MTN', () => {
  const account = { currency: 'UGX', zone: 'Africa/Kampala' };
  const HEADER = 'Id,Date,Status,Type,From,From Name,To,To Name,Amount,Fee,Balance';
  const IN =
    '101,2026-11-14 10:00:00,Successful,Payment,FRI:256772123456/MSISDN,Okello,FRI:256770000001/MSISDN,Shop,5000,0,5000';
  const OUT =
    '102,2026-11-14 10:05:00,Successful,Transfer,FRI:256770000001/MSISDN,Shop,FRI:256772999888/MSISDN,Akello,2000,50,2950';

  test('our party is the one that every line has; a fee of zero is not a fee that is not known', async () => {
    const { format, lines } = await readStatement(
      await folder.write('m1.csv', [HEADER, IN, OUT].join('\n')),
      {},
      account,
    );
    assert.equal(format, 'mtn');
    assert.deepEqual(lines.map(short), [
      [
        '2026-11-14T07:00:00.000Z',
        'payment',
        'in',
        'succeeded',
        500_000n,
        0n,
        'UGX',
        '101',
        null,
        '256772123456',
        500_000n,
      ],
      [
        '2026-11-14T07:05:00.000Z',
        'payment',
        'out',
        'succeeded',
        200_000n,
        5_000n,
        'UGX',
        '102',
        null,
        '256772999888',
        295_000n,
      ],
    ]);
  });

  test('without header, Id and Fee', async () => {
    const bare = [IN, OUT].map((line) =>
      line
        .split(',')
        .filter((_, at) => at !== 0 && at !== 9)
        .join(','),
    );
    const { lines, problems } = await readStatement(await folder.write('m2.csv', bare.join('\n')), {}, account);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      lines.map(({ direction, gross, fee, receipt }) => [direction, gross, fee, receipt]),
      [
        ['in', 500_000n, null, null],
        ['out', 200_000n, null, null],
      ],
    );
  });

  test('dates: the order is found from the file, and asked for where both can be meant', async () => {
    const dated = (date: string) =>
      [HEADER, IN.replace('2026-11-14 10:00:00', date), OUT.replace('2026-11-14 10:05:00', date)].join('\n');
    const read = async (name: string, date: string, choices = {}) =>
      readStatement(await folder.write(name, dated(date)), choices, account);
    assert.equal(
      (await read('d1.csv', '14/11/2026 10:00')).lines[0]?.occurredAt.toISOString(),
      '2026-11-14T07:00:00.000Z',
    );
    assert.equal(
      (await read('d2.csv', '11/14/2026 10:00')).lines[0]?.occurredAt.toISOString(),
      '2026-11-14T07:00:00.000Z',
    );
    // The fifth of December 2026 is still to come when this is read.
    assert.equal((await read('d3.csv', '05/12/2025 10:00:30')).problems.length, 2);
    assert.equal(
      (await read('d4.csv', '12/05/2026 10:00')).lines[0]?.occurredAt.toISOString(),
      '2026-05-12T07:00:00.000Z',
    );
    const asked = await read('d5.csv', '05/06/2026 10:00', { dateOrder: 'mdy' });
    assert.equal(asked.lines[0]?.occurredAt.toISOString(), '2026-05-06T07:00:00.000Z');
  });
});

describe('lists in JSON', () => {
  const AIRTEL = {
    charges: { service: 12.5 },
    payee: { name: 'Shop' },
    payer: { msisdn: '752123456' },
    service: { type: 'MERCHANT_PAYMENT' },
    transaction: {
      airtel_money_id: 'MP1',
      amount: '500',
      created_at: 1_794_650_400_000,
      id: 'TX01',
      reference_number: 'r',
      status: 'TS',
    },
  };

  test('Airtel, in its envelope, as a plain list, and as lines', async () => {
    const expected = [
      '2026-11-14T10:00:00.000Z',
      'payment',
      'in',
      'succeeded',
      50_000n,
      1_250n,
      'UGX',
      'MP1',
      'TX01',
      '752123456',
      null,
    ];
    const forms = {
      envelope: JSON.stringify({ status: { code: '200' }, data: { count: 1, transactions: [AIRTEL] } }, null, 2),
      list: JSON.stringify([AIRTEL]),
      lines: `${JSON.stringify(AIRTEL)}\n${JSON.stringify({ ...AIRTEL, service: { type: 'DISBURSEMENT' } })}\n`,
    };
    for (const [name, text] of Object.entries(forms)) {
      const { format, lines, problems } = await readStatement(
        await folder.write(`${name}.json`, text),
        {},
        { currency: 'UGX' },
      );
      assert.deepEqual([format, problems], ['airtel', []], name);
      assert.deepEqual(short(lines[0]), expected, name);
    }
  });

  test('a list that was cut keeps what is whole and names what is not', async () => {
    const text = JSON.stringify([AIRTEL, AIRTEL, AIRTEL]);
    const { lines, problems } = await readStatement(
      await folder.write('cut.json', text.slice(0, -40)),
      {},
      { currency: 'UGX' },
    );
    assert.equal(lines.length, 2);
    assert.deepEqual(
      problems.map(({ reason }) => reason),
      ['The file ends within this record.'],
    );
  });

  test('Wave says the fee, the balance and our reference; a refund leaves the account', async () => {
    const base = {
      timestamp: '2026-11-14T10:00:00Z',
      currency: 'XOF',
      fee: '10',
      balance: '990',
      client_reference: 'TX-1',
    };
    const items = [
      {
        ...base,
        transaction_id: 'T1',
        transaction_type: 'api_checkout',
        amount: '1000',
        counterparty_mobile: '+221771234567',
      },
      { ...base, transaction_id: 'T2', transaction_type: 'api_checkout_refund', amount: '-1000', is_reversal: true },
    ];
    const path = await folder.write(
      'wave.json',
      JSON.stringify({ date: '2026-11-14', items, page_info: { has_next_page: false } }),
    );
    const { lines } = await readStatement(path);
    assert.deepEqual(
      lines.map(({ kind, direction, gross, fee, balance }) => [kind, direction, gross, fee, balance]),
      [
        ['payment', 'in', 100_000n, 1_000n, 99_000n],
        ['reversal', 'out', 100_000n, 1_000n, 99_000n],
      ],
    );
  });

  test('Sonatel: cash-ins leave the account', async () => {
    const row = {
      amount: { value: 10.0, unit: 'XOF' },
      reference: 'TX1',
      customer: { id: '771234567' },
      createdAt: '2026-11-14T10:00:00Z',
    };
    const list = [
      { ...row, type: 'MERCHANT_PAYMENT', transactionId: 'MP1', status: 'SUCCESS' },
      { ...row, type: 'CASHIN', transactionId: 'CI1', status: 'FAILED' },
    ];
    const { format, lines } = await readStatement(await folder.write('sonatel.json', JSON.stringify(list)));
    assert.equal(format, 'sonatel');
    assert.deepEqual(
      lines.map(({ direction, state, gross, fee }) => [direction, state, gross, fee]),
      [
        ['in', 'succeeded', 1_000n, null],
        ['out', 'failed', 1_000n, null],
      ],
    );
  });

  test('Paystack: units of XOF are what the connection says, or the line is bad', async () => {
    const row = {
      id: 7,
      reference: 'TX-1',
      amount: 10_000,
      fees: 150,
      currency: 'XOF',
      status: 'success',
      paid_at: '2026-11-14T10:00:00.000Z',
    };
    const ledger = {
      id: 1,
      balance: 5_000,
      currency: 'KES',
      difference: -2_000,
      model_responsible: 'Transfer',
      model_row: 9,
      createdAt: '2026-11-14T10:00:00.000Z',
    };
    const path = await folder.write('paystack.json', JSON.stringify({ status: true, data: [row, ledger] }));
    const unset = await readStatement(path);
    assert.deepEqual(
      unset.problems.map(({ lineNumber }) => lineNumber),
      [1],
    );
    const hundredths = await readStatement(path, {}, { settings: { xof_factor: '100' } });
    assert.deepEqual(
      hundredths.lines.map(({ gross, fee, direction, receipt }) => [gross, fee, direction, receipt]),
      [
        [10_000n, 150n, 'in', '7'],
        [2_000n, null, 'out', '9'],
      ],
    );
    const francs = await readStatement(path, {}, { settings: { xof_factor: '1' } });
    assert.equal(francs.lines[0]?.gross, 1_000_000n);
  });
});

test('pawaPay: a fee is a row of its own under the id of its payment', async () => {
  const id = '8f0d1c2e-0000-4000-8000-000000000001';
  const text = `Creation Date,MSISDN,Transaction ID,Amount,Currency,Country,MNO,Type
2026-11-14T10:00:00Z,260763456789,${id},25.5,ZMW,ZMB,MTN_MOMO_ZMB,DEPOSIT
2026-11-14T10:00:00Z,260763456789,${id},-0.51,ZMW,ZMB,MTN_MOMO_ZMB,FEE`;
  const { format, lines } = await readStatement(await folder.write('pawapay.csv', text));
  assert.equal(format, 'pawapay');
  assert.deepEqual(
    lines.map(({ kind, direction, gross, fee, reference }) => [kind, direction, gross, fee, reference]),
    [
      ['payment', 'in', 2_550n, null, id],
      ['fee', 'out', 51n, null, id],
    ],
  );
});

describe('any CSV by a mapping', () => {
  const FRENCH = [
    'Relevé de compte;;;',
    'Date;Libellé;Débit;Crédit;Réf',
    '14/11/2026 10:00;Paiement;;1\u202f234,50;A1',
    '14/11/2026 11:00;Frais;"1 500,00";;A2\n',
  ].join('\n');
  const mapping = {
    date: 'Date',
    dateFormat: 'dd/MM/yyyy HH:mm',
    decimalSign: ',',
    paidIn: 'Credit',
    withdrawn: 'Débit',
    receipt: 'Réf',
    description: 'Libellé',
    kind: { column: 'Libellé', fee: ['Frais'] },
    zone: 'Africa/Douala',
  } as const;

  test('French numbers and two columns', async () => {
    for (const encoding of ['utf8', 'latin1'] as const) {
      const text = encoding === 'latin1' ? FRENCH.replaceAll('\u202f', '\u00a0') : FRENCH;
      const path = await folder.write(`french-${encoding}.csv`, Buffer.from(text, encoding));
      const { lines, problems } = await readStatement(path, {
        mapping: { ...mapping, kind: { ...mapping.kind, fee: ['Frais'] } },
        currency: 'XAF',
      });
      assert.deepEqual(problems, []);
      assert.deepEqual(
        lines.map(({ kind, direction, gross, receipt, occurredAt }) => [
          kind,
          direction,
          gross,
          receipt,
          occurredAt.toISOString(),
        ]),
        [
          ['payment', 'in', 123_450n, 'A1', '2026-11-14T09:00:00.000Z'],
          ['fee', 'out', 150_000n, 'A2', '2026-11-14T10:00:00.000Z'],
        ],
      );
    }
  });

  test('amounts with a label: DR is money out, a sign of a currency is none, and thousands are not guessed', async () => {
    const written = [
      '500.00 DR',
      '500.00CR',
      'Dr. 500',
      '-500 DR',
      '₦500',
      'KSh 500',
      '500 F',
      'K500',
      '5K',
      '1.2M',
      '3bn',
    ];
    const path = await folder.write(
      'labels.csv',
      ['day,sum', ...written.map((each) => `2026-03-02,"${each}"`)].join('\n'),
    );
    const { lines, problems } = await readStatement(path, { mapping: { date: 'day', amount: 'sum' }, currency: 'KES' });
    assert.deepEqual(
      lines.map(({ direction, gross }) => [direction, gross]),
      ['out', 'in', 'out', 'out', 'in', 'in', 'in', 'in'].map((direction) => [direction, 50_000n]),
    );
    assert.deepEqual(
      problems.map(({ reason }) => reason),
      ['5K', '1.2M', '3bn'].map((each) => `"${each}" is not an amount. Write all its digits.`),
    );
  });

  test('columns by number, without a header; a text with two meanings is a bad line', async () => {
    const path = await folder.write('bare.csv', '2026-11-14 10:00:00|-12.50\n2026-11-14 10:00:00|1,500\n');
    const { lines, problems } = await readStatement(path, {
      mapping: { date: 1, amount: 2, header: false },
      currency: 'KES',
    });
    assert.deepEqual(
      lines.map(({ direction, gross }) => [direction, gross]),
      [['out', 1_250n]],
    );
    assert.match(problems[0]?.reason ?? '', /two meanings/);
  });
});

test('a file that no reader knows, or that is no statement, is refused with what to do', async () => {
  const refused = async (name: string, content: string | Buffer, sentence: RegExp) =>
    assert.rejects(readStatement(await folder.write(name, content)), { message: sentence });
  await refused('x.csv', 'a,b,c\n1,2,3\n', /form of no operator.*a \| b \| c/);
  await refused('x.pdf', '%PDF-1.7 …', /is a PDF/);
  await refused('x.xls', Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), /old form \(XLS\)/);
  await refused('x.bin', Buffer.from([1, 2, 0, 4, 5]), /not text/);
  await refused('bytes.csv', Buffer.from([0x41, 0x2c, 0x81, 0x8d, 0xff, 0x0a]), /Save it as "CSV UTF-8"/);
  await refused('empty.csv', '', /is empty/);
});

describe('a spreadsheet that unpacks to more than its limits', () => {
  test('is refused by the name of the limit', async () => {
    const sheet = Buffer.alloc(32 * 1024 * 1024, '<row></row>');
    const ratio = await folder.writeZip('ratio.xlsx', {
      'xl/workbook.xml': '<workbook/>',
      'xl/worksheets/sheet1.xml': sheet,
    });
    await assert.rejects(readStatement(ratio), { message: /ratio 200/ });
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`xl/${at}.xml`, '<a/>']));
    await assert.rejects(readStatement(await folder.writeZip('many.xlsx', many)), { message: /limit: 1000 entries/ });
  });

  test('and so are documents that define texts of their own', async () => {
    const laughs = `<!DOCTYPE lolz [<!ENTITY lol "lol">]><worksheet><sheetData><row><c><v>&lol;</v></c></row></sheetData></worksheet>`;
    const path = await folder.writeZip('laughs.xlsx', {
      'xl/workbook.xml': '<workbook/>',
      'xl/worksheets/sheet1.xml': laughs,
    });
    await assert.rejects(readStatement(path), { message: /document type/ });
  });
});
