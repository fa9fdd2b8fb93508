// Our own accounts at banks. In statements, daily closes and the ledger such an account has a name as a connection has one:
// bank.<name>. So its statement is imported, compared and closed by what exists for operators.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { bankPlace } from '../ledger/chart.ts';
import { clearingAt } from '../ledger/clearing.ts';
import type { Context } from '../platform/context.ts';
import { type Reader, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { isTimeZone } from '../platform/time-zones.ts';

const SHOWN_DIGITS = 4;
const CURRENCY = /^[A-Z]{3}$/;
const FAR_FUTURE = new Date('9999-01-01T00:00:00Z');

export type BankAccount = {
  name: string;
  currency: string;
  bank: string;
  account_number: string;
  /** Of the times in its statements. */
  zone: string;
  added_by: string;
  added_at: Date;
};

export type NewBankAccount = Pick<BankAccount, 'name' | 'currency' | 'bank' | 'account_number' | 'zone'>;

const COLUMNS = 'name, currency, bank, account_number, zone, added_by, added_at';

const REFUSALS: Readonly<Record<string, string>> = {
  bank_account_name: 'There is a bank account with this name already.',
  bank_account_name_form: 'A name has small letters, digits and dashes, at most 32.',
  bank_account_bank_length: 'Name the bank, in at most 120 characters.',
  bank_account_number_length: 'An account number has 4 to 40 characters.',
};

export async function addBankAccount(
  ctx: Pick<Context, 'db' | 'clock'>,
  actor: Actor,
  account: NewBankAccount,
): Promise<void> {
  if (!CURRENCY.test(account.currency)) throw invalid('A currency has three letters, for instance KES.');
  if (!isTimeZone(account.zone)) throw invalid(`"${account.zone.slice(0, 40)}" is not a time zone.`);
  const { name, currency, bank, account_number: number, zone } = account;
  const at = ctx.clock.now();
  try {
    await ctx.db.transaction(async (tx) => {
      await tx.query(`insert into bank_accounts (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7)`, [
        name,
        currency,
        bank,
        number,
        zone,
        actor.name,
        at,
      ]);
      const details = { currency, bank, number: maskedNumber(number) };
      await recordAudit(tx, { holderId: null, actor, action: 'bank.added', subject: name, details }, at);
    });
  } catch (error) {
    const refusal = REFUSALS[violatedConstraint(error) ?? ''];
    throw refusal ? invalid(refusal) : error;
  }
}

const invalid = (message: string) => new Problem('invalid_params', { message });

export function listBankAccounts(reader: Reader): Promise<BankAccount[]> {
  return reader.query<BankAccount>(`select ${COLUMNS} from bank_accounts order by name`);
}

export async function findBankAccount(reader: Reader, name: string): Promise<BankAccount | null> {
  const [row] = await reader.query<BankAccount>(`select ${COLUMNS} from bank_accounts where name = $1`, [name]);
  return row ?? null;
}

export async function requireBankAccount(reader: Reader, name: string): Promise<BankAccount> {
  const account = await findBankAccount(reader, name);
  if (!account)
    throw new Problem('invalid_params', { status: 404, message: `There is no bank account "${name.slice(0, 40)}".` });
  return account;
}

/** What our ledger says that the bank holds; below zero: what we owe it. */
export function balanceAtBank(reader: Reader, { name, currency }: BankAccount): Promise<bigint> {
  return clearingAt(reader, bankPlace(name), currency, FAR_FUTURE);
}

/** The last digits: enough to tell accounts apart, too little to use one. */
export function maskedNumber(number: string): string {
  const shown = number.slice(-SHOWN_DIGITS);
  return `${'•'.repeat(Math.max(0, number.length - SHOWN_DIGITS))}${shown}`;
}
