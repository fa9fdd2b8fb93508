// How the body of an event is stored. Three fifths of a body are the same in all of them: each of these parts is stored as one
// control character, which JSON never contains as it is. What is sent and signed are the bytes as they were.

/**
 * By the number of their character. Never change or remove one: bodies that were stored with it could not be read any more. Others may be
 * added at the end, in a release after one that can read them; there is room for 31.
 */
const PARTS: readonly string[] = [
  '{"id":"evt_',
  '","type":"collection.success","created_at":"',
  '000Z","data":{"amount":',
  ',"fee":',
  ',"currency":"',
  '","status":"success","payee":null,"invoice_no":null,"mobile":"',
  '","account_number":null,"ref":"TX_',
  '","balance":',
  ',"transaction_detail":"',
  ',"transaction_detail":"Collection from ',
  '","payment_channel":"',
  '","transaction_date":"',
  '","created_at":"',
  '000Z","updated_at":"',
  '000Z","callback_url":"http',
  '","status_code":"200","failureReason":{"failureCode":null,"failureMessage":null},"third_party_reference_1":',
  'null,"third_party_reference_2":null}}',
  '","third_party_reference_2":null}}',
  '","third_party_reference_2":"',
  '},"third_party_reference_1":',
  '","payee":null,"invoice_no":null,"mobile":"',
  '","type":"payout.success","created_at":"',
  '","type":"collection.',
  '","status_code":"',
  '","failureReason":{"failureCode":"',
  '","failureMessage":"',
];

const CHARACTERS = new Map(PARTS.map((part, index) => [part, String.fromCharCode(index + 1)]));
/** The longest that fits counts. */
const PART = new RegExp(
  PARTS.toSorted((one, other) => other.length - one.length)
    .map((part) => part.replaceAll(/[{}.]/g, '\\$&'))
    .join('|'),
  'g',
);
const CHARACTER = /[\0-\x1f]/g;

export function packBody(body: Buffer): Buffer {
  return Buffer.from(body.toString('utf8').replace(PART, (part) => CHARACTERS.get(part) ?? part));
}

/** The body of an event from what is stored; one that was stored as it was sent has nothing to replace. */
export function unpackBody(stored: Buffer): Buffer {
  return Buffer.from(stored.toString('utf8').replace(CHARACTER, partOf));
}

function partOf(character: string): string {
  const number = character.charCodeAt(0);
  const part = PARTS[number - 1];
  if (part === undefined) throw new Error(`the body of an event has part ${number}, which this version does not know`);
  return part;
}
