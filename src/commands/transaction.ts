// simbi transaction: one payment, as the API shows it; and the waiting for its end that `simbi collect` shares.

import type { Command } from 'commander';
import { CREDENTIALS_HELP, type Credentials, postSigned, readCredentials } from './remote.ts';
import { addCommand, CommandError, EXIT, print, type Terminal } from './terminal.ts';

const POLL_MS = 500;
const DEFAULT_WAIT_SECONDS = 120;
const MAX_WAIT_SECONDS = 3_600;
const FINAL = ['success', 'failed', 'expired', 'reversed'];

/** What commands show of a record; the API gives more. */
export type TransactionRecord = {
  ref: string;
  status: string;
  amount: number;
  fee: number;
  currency: string;
  mobile: string | null;
  payment_channel: string;
  balance: number | null;
  transaction_detail: string;
  updated_at: string;
  failureReason: { failureCode: string | null; failureMessage: string | null };
};

export function transactionCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'transaction <ref>', 'show a payment; with --wait until it is over', [
    'npx simbi transaction TX_01J…',
    'npx simbi transaction TX_01J… --wait',
    'npx simbi transaction TX_01J… --token 123456',
  ])
    .option('--wait [seconds]', `wait for the end, at most this long (${DEFAULT_WAIT_SECONDS})`)
    .option('--token <digits>', 'first give the six digits that the payer received by SMS')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (ref: string, options: { json?: boolean; wait?: string | true; token?: string }) => {
      const patience = readWait(options.wait);
      const credentials = await readCredentials(terminal);
      if (options.token !== undefined)
        await postSigned(credentials, '/api/v3/service-unified-collections/verify', { id: ref, token: options.token });
      await follow(terminal, credentials, ref, patience, options);
    });
}

/** The seconds of --wait; 0: do not wait. */
export function readWait(given: string | true | undefined): number {
  if (given === undefined) return 0;
  if (given === true) return DEFAULT_WAIT_SECONDS;
  const seconds = /^\d{1,4}$/.test(given) ? Number(given) : Number.NaN;
  if (!(seconds >= 1 && seconds <= MAX_WAIT_SECONDS))
    throw new CommandError(`--wait is a number of seconds, at most ${MAX_WAIT_SECONDS}.`, EXIT.usage);
  return seconds;
}

/** Shows the record, after waiting for its end when there is patience. Code 7 when the payment failed. */
export async function follow(
  terminal: Terminal,
  credentials: Credentials,
  ref: string,
  patienceSeconds: number,
  options: { json?: boolean },
): Promise<void> {
  const until = performance.now() + patienceSeconds * 1_000;
  let record = await readRecord(credentials, ref);
  let said = '';
  while (!FINAL.includes(record.status) && performance.now() < until) {
    if (record.status !== said) terminal.say(`  ${record.status} …`);
    said = record.status;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    record = await readRecord(credentials, ref);
  }
  print(terminal, options, record, linesOf(record));
  if (record.status === 'failed' || record.status === 'expired' || record.status === 'reversed')
    process.exitCode = EXIT.paymentFailed;
  else if (patienceSeconds > 0 && record.status !== 'success') {
    terminal.say(`Still ${record.status} after ${patienceSeconds} s: npx simbi transaction ${ref} --wait`);
    process.exitCode = EXIT.unavailable;
  }
}

async function readRecord(credentials: Credentials, ref: string): Promise<TransactionRecord> {
  const { body } = await postSigned(credentials, '/api/v3/get-unified-transaction-status', { id: ref });
  return body.data as TransactionRecord;
}

function linesOf(record: TransactionRecord): string {
  const { failureCode, failureMessage } = record.failureReason;
  const rows: [string, string | null][] = [
    ['ref', record.ref],
    ['status', failureCode ? `${record.status}: ${failureCode}, ${failureMessage ?? ''}` : record.status],
    ['amount', `${record.amount} ${record.currency} (fee ${record.fee})`],
    ['mobile', record.mobile],
    ['channel', record.payment_channel],
    ['balance', record.balance === null ? null : `${record.balance} ${record.currency} after it`],
    ['updated', record.updated_at],
  ];
  return rows.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(9)}${value}`])).join('\n');
}
