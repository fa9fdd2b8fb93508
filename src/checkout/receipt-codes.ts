// Receipts that anyone can check: a short random code with a signature of four letters, so that an invented code is
// refused without a query. What a receipt says is read from the transaction each time.

import { createHmac } from 'node:crypto';
import type { Transaction } from '../payments/transactions.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { base32Letters, randomName } from '../platform/ids.ts';
import { constantTimeEqual } from '../platform/secrets.ts';

const CODE_LENGTH = 10;
const CHECK_LENGTH = 4;

/** The receipt's code as it is printed: "7K3QM-9TWXA-B2CD". Created when it is first needed. */
export async function receiptCode(ctx: Context, transaction: Pick<Transaction, 'id' | 'holder_id'>): Promise<string> {
  const code =
    (await findCode(ctx.db, transaction)) ?? (await ctx.db.transaction((tx) => createCode(tx, ctx, transaction)));
  return printCode(code + checkOf(ctx, code));
}

async function findCode(
  reader: Reader,
  { holder_id: holderId, id }: Pick<Transaction, 'id' | 'holder_id'>,
): Promise<string | null> {
  const [row] = await reader.query<{ code: string }>(
    'select code from receipts where holder_id = $1 and transaction_id = $2',
    [holderId, id],
  );
  return row?.code ?? null;
}

async function createCode(tx: Tx, ctx: Context, transaction: Pick<Transaction, 'id' | 'holder_id'>): Promise<string> {
  await tx.query(
    `insert into receipts (holder_id, transaction_id, code, created_at) values ($1, $2, $3, $4)
     on conflict (holder_id, transaction_id) do nothing`,
    [transaction.holder_id, transaction.id, randomName(CODE_LENGTH).toUpperCase(), ctx.clock.now()],
  );
  const code = await findCode(tx, transaction);
  if (code === null) throw new Error('a receipt that was just written is gone');
  return code;
}

/** The transaction of a code, in any notation; null when we did not issue the code. */
export async function findReceipt(ctx: Context, reader: Reader, typed: string): Promise<string | null> {
  const code = readCode(typed);
  if (code === null) return null;
  const number = code.slice(0, CODE_LENGTH);
  const check = Buffer.from(code.slice(CODE_LENGTH));
  if (!constantTimeEqual(check, Buffer.from(checkOf(ctx, number)))) return null;
  const [row] = await reader.query<{ transaction_id: string }>('select transaction_id from receipts where code = $1', [
    number,
  ]);
  return row?.transaction_id ?? null;
}

/** The code in its printed form, or null when the text cannot be one. */
export function normaliseReceiptCode(typed: string): string | null {
  const code = readCode(typed);
  return code === null ? null : printCode(code);
}

/** O counts as 0, I and L as 1; case, dashes and spaces are ignored. */
function readCode(typed: string): string | null {
  if (typed.length > 40) return null;
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  return /^[0-9A-HJKMNP-TV-Z]{14}$/.test(code) ? code : null;
}

function printCode(code: string): string {
  return `${code.slice(0, 5)}-${code.slice(5, 10)}-${code.slice(10)}`;
}

function checkOf(ctx: Context, code: string): string {
  const mac = createHmac('sha256', ctx.vault.deriveKey('receipt code')).update(code).digest();
  return base32Letters(mac.subarray(0, CHECK_LENGTH));
}
