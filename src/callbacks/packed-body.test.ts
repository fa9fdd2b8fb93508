// Bodies are read as they were, whichever way they are stored, by this version and by later ones.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { packBody, unpackBody } from './packed-body.ts';

const BODY = JSON.stringify({
  id: 'evt_01JEJZ04HMFAY8VVR14D2PF2DB',
  type: 'collection.success',
  created_at: '2026-11-17T16:12:03.123000Z',
  data: {
    amount: 1000,
    fee: 15,
    currency: 'UGX',
    status: 'success',
    payee: null,
    invoice_no: null,
    mobile: '256772123456',
    account_number: null,
    ref: 'TX01JEJZ04HMFAY8VVR14D2PF2DB',
    balance: 1203445,
    transaction_detail: 'Payment to Zoë’s shop',
    payment_channel: 'MTN MoMo',
    transaction_date: '2026-11-17 16:12:03',
    created_at: '2026-11-17T16:12:02.987000Z',
    updated_at: '2026-11-17T16:12:03.125000Z',
    callback_url: 'https://shop.example.com/callbacks',
    status_code: '200',
    failureReason: { failureCode: null, failureMessage: null },
    third_party_reference_1: 'order-123',
    third_party_reference_2: null,
  },
});

/** As the first release that packs bodies stores the body above. */
const STORED =
  'ATAxSkVKWjA0SE1GQVk4VlZSMTREMlBGMkRCAjIwMjYtMTEtMTdUMTY6MTI6MDMuMTIzAzEwMDAEMTUFVUdYBjI1Njc3MjEyMzQ1NiIsImFjY2' +
  '91bnRfbnVtYmVyIjpudWxsLCJyZWYiOiJUWDAxSkVKWjA0SE1GQVk4VlZSMTREMlBGMkRCCDEyMDM0NDUJUGF5bWVudCB0byBab8Or4oCZcyBz' +
  'aG9wC01UTiBNb01vDDIwMjYtMTEtMTcgMTY6MTI6MDMNMjAyNi0xMS0xN1QxNjoxMjowMi45ODcOMjAyNi0xMS0xN1QxNjoxMjowMy4xMjUPcz' +
  'ovL3Nob3AuZXhhbXBsZS5jb20vY2FsbGJhY2tzECJvcmRlci0xMjMS';

describe('the stored body of an event', () => {
  test('has less than half of the bytes, and is read as it was by every later release', () => {
    assert.equal(packBody(Buffer.from(BODY)).toString('base64'), STORED);
    assert.ok(Buffer.from(STORED, 'base64').length < BODY.length * 0.42);
    assert.equal(unpackBody(Buffer.from(STORED, 'base64')).toString(), BODY);
  });

  test('that is not packed is read as it is', () => {
    assert.equal(unpackBody(Buffer.from(BODY)).toString(), BODY);
  });

  test('gives back every byte of any body', () => {
    // Texts that look like parts, and characters that JSON writes with a backslash.
    const text = fc.array(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('","type":"', '\u0001', ',"fee":', '\n', '"}}')),
    );
    fc.assert(
      fc.property(text, fc.json(), (texts, json) => {
        const data = {
          amount: 5,
          fee: 1,
          currency: texts.join(''),
          status: 'success',
          payee: null,
          more: JSON.parse(json),
        };
        const body = Buffer.from(JSON.stringify({ id: 'evt_1', type: 'collection.failed', data }));
        assert.deepEqual(unpackBody(packBody(body)), body);
      }),
    );
  });

  test('with a part that is not known is an error, not a wrong body', () => {
    const packed = Buffer.from(packBody(Buffer.from(BODY)).toString().replace('\u0005', '\u001f'));
    assert.throws(() => unpackBody(packed), /has part 31, which this version does not know/);
  });
});
