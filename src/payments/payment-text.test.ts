// The SMS of operators, as payers paste them: each gives its receipt, amount and day.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadCatalog } from '../catalog/catalog.ts';
import { amountOf, possibleNumbers, readPaymentText } from './payment-text.ts';

const countries = [...loadCatalog().countries.values()];
const read = (text: string) => readPaymentText(text, countries);

const SMS: [
  about: string,
  text: string,
  receipt: string,
  amount: bigint,
  currency: string | null,
  day: string | null,
][] = [
  [
    'M-PESA, Buy Goods',
    'SBK4T7Y8ZX Confirmed. Ksh2,500.00 paid to DUKA LA AMANI. on 2/3/26 at 12:05 PM.New M-PESA balance is Ksh1,234.00. ' +
      'Transaction cost, Ksh0.00. Amount you can transact within the day is 497,500.00. Save frequent Tills.',
    'SBK4T7Y8ZX',
    250_000n,
    'KES',
    '2026-03-02',
  ],
  [
    'M-PESA, Pay Bill',
    'TCK9LM2QPA Confirmed. Ksh1,050.50 sent to SIMBI for account 77120 on 14/11/26 at 9:01 AM New M-PESA balance is Ksh20.00.',
    'TCK9LM2QPA',
    105_050n,
    'KES',
    '2026-11-14',
  ],
  [
    'M-PESA in Swahili',
    'SBK4T7Y8ZX Imethibitishwa. Ksh2,500.00 imelipwa kwa DUKA LA AMANI tarehe 2/3/26 saa 12:05 PM. ' +
      'Salio lako jipya la M-PESA ni Ksh1,234.00. Gharama ya kutuma ni Ksh0.00.',
    'SBK4T7Y8ZX',
    250_000n,
    'KES',
    '2026-03-02',
  ],
  [
    'M-PESA in Tanzania',
    '9CF41XK7Q2A Imethibitishwa. Umelipa Tsh10,000.00 kwa DUKA LTD tarehe 2/3/26 saa 3:45 PM. Salio lako ni Tsh4,500.00.',
    '9CF41XK7Q2A',
    1_000_000n,
    'TZS',
    '2026-03-02',
  ],
  [
    'M-Pesa in Mozambique',
    'Confirmado 9CF41XK7Q2A. Transferiste 500.00MT e a taxa foi de 5.00MT para 841234567 - LOJA aos 2/3/26 as 12:05 PM. ' +
      'O teu novo saldo M-Pesa e de 1,234.00MT.',
    '9CF41XK7Q2A',
    50_000n,
    'MZN',
    '2026-03-02',
  ],
  [
    'MTN MoMo in Ghana',
    'Payment made for GHS 50.00 to AMA SHOP. Current Balance: GHS 120.50 . Available Balance: GHS 120.50. Reference: order. ' +
      'Transaction ID: 21937683628. Fee charged: GHS 0.00 TAX charged: 0. External Transaction Id: -.',
    '21937683628',
    5_000n,
    'GHS',
    null,
  ],
  [
    'MTN MoMo in Uganda',
    "Y'ello. You have paid UGX 2,500 to AMA SHOP on 2026-03-02 12:05:33. Fee: UGX 0. New balance: UGX 10,000. Transaction ID: 21937683628",
    '21937683628',
    250_000n,
    'UGX',
    '2026-03-02',
  ],
  [
    'MTN MoMo in French',
    'Vous avez effectue un paiement de 2500 FCFA a DUKA SARL le 2026-03-02 12:05:33. Frais: 0 FCFA. ' +
      'Nouveau solde: 12000 FCFA. ID de la transaction: 4567891234.',
    '4567891234',
    250_000n,
    null,
    '2026-03-02',
  ],
  [
    'Airtel Money in Uganda',
    'PAID. TID 112233445566. UGX 2,500 to AMA SHOP Charge UGX 0. Bal UGX 5,000. 02-March-2026 12:05',
    '112233445566',
    250_000n,
    'UGX',
    '2026-03-02',
  ],
  [
    'Airtel Money in Zambia',
    'Txn. ID : PP260302.1205.A12345. You have paid ZMW 50.00 to AMA SHOP. Your available balance is ZMW 10.00.',
    'PP260302.1205.A12345',
    5_000n,
    'ZMW',
    '2026-03-02',
  ],
  [
    'Airtel Money in Swahili',
    'Muamala No: 112233445566. Umelipa TSh 10,000 kwa DUKA LTD. Makato TSh 0. Salio TSh 4,500. 2 Machi 2026',
    '112233445566',
    1_000_000n,
    'TZS',
    null,
  ],
  [
    'Orange Money in French',
    'Votre paiement de 2 500 FCFA au marchand DUKA SARL est effectué avec succès. Réf: MP260302.1205.B56929. ' +
      'Nouveau solde: 10 000 FCFA.',
    'MP260302.1205.B56929',
    250_000n,
    null,
    '2026-03-02',
  ],
  [
    'Wave in French',
    'Vous avez payé 2.500F à DUKA SARL. Frais: 0F. Nouveau solde: 10.000F. ID: T_46HS5COOWE le 2 mars 2026',
    'T_46HS5COOWE',
    250_000n,
    null,
    '2026-03-02',
  ],
  [
    'Wave in English',
    'You paid 2,500F to DUKA SARL. Fee: 0F. New balance: 10,000F. Transaction ID T_46HS5COOWE',
    'T_46HS5COOWE',
    250_000n,
    null,
    null,
  ],
  ['the test phone', 'SBX7K2M9QA confirmed. You paid KES 2,500 to Duka la Amani.', 'SBX7K2M9QA', 250_000n, 'KES', null],
  [
    'the test phone in French',
    'SBX7K2M9QA confirmé. Vous avez payé 2\u202f500\u00a0F\u202fCFA à Duka.',
    'SBX7K2M9QA',
    250_000n,
    null,
    null,
  ],
];

describe('the SMS of an operator', () => {
  for (const [about, text, receipt, amount, currency, day] of SMS)
    test(about, () => {
      const clue = read(text);
      assert.equal(clue.receipts[0], receipt, JSON.stringify(clue.receipts));
      assert.deepEqual(clue.amounts[0], { amount, currency });
      if (day !== null) assert.equal(clue.days[0], day);
    });

  test('the balance and the cost are not what was paid', () => {
    const clue = read(SMS[0]?.[1] ?? '');
    assert.equal(clue.amounts.length, 1);
  });
});

describe('parts of an SMS', () => {
  test('a receipt, a number or an amount alone', () => {
    assert.deepEqual(read('sbk4t7y8zx').receipts, ['SBK4T7Y8ZX']);
    assert.deepEqual(read('21937683628').receipts, ['21937683628']);
    assert.deepEqual(read('+254 712 345 678').numbers, ['254712345678']);
    assert.deepEqual(read('paid from 254712345678').numbers, ['254712345678']);
    assert.deepEqual(read('Ksh 300').amounts, [{ amount: 30_000n, currency: 'KES' }]);
  });

  test('the same text is read the same way again', () => {
    for (let time = 0; time < 3; time++) assert.deepEqual(read('2026-03-02').days, ['2026-03-02']);
  });

  test('a number without its country may be one of several', () => {
    const numbers = possibleNumbers('0712345678', countries);
    assert.ok(numbers.includes('254712345678') && numbers.includes('255712345678'));
    assert.deepEqual(possibleNumbers('hello', countries), []);
  });

  test('amounts as the countries write them', () => {
    for (const [written, amount] of [
      ['2,500.00', 250_000n],
      ['2.500', 250_000n],
      ['2 500', 250_000n],
      ['2500,5', 250_050n],
      ['0', null],
      ['1.2.3', null],
      ['9'.repeat(20), null],
    ] as const)
      assert.equal(amountOf(written), amount, written);
  });

  test('nothing hangs and nothing is found in what is no SMS', () => {
    for (const text of [
      '',
      '   ',
      'hello world',
      '.'.repeat(5_000),
      '1'.repeat(5_000),
      'ID '.repeat(2_000),
      'A1'.repeat(2_000),
    ])
      assert.ok(read(text).receipts.length <= 5);
    assert.deepEqual(read('hello world'), { receipts: [], amounts: [], days: [], numbers: [] });
  });
});
