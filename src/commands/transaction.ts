// simbi transaction: shows a transaction, and waits for its result (also for `simbi collect`).

import type { Command } from 'commander';
import { CREDENTIALS_HELP, type Credentials, postSigned, readCredentials } from './remote.ts';
import { CommandError, EXIT, print, type Terminal, withExamples } from './terminal.ts';

const POLL_MS = 500;
const DEFAULT_WAIT_SECONDS = 120;
const MAX_WAIT_SECONDS = 3_600;
const FINAL = ['success', 'failed', 'expired', 'reversed'];

/** The fields of the API's record that commands show. */
type TransactionRecord = {
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

export function transactionCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi transaction TX_01J…',
    'npx simbi transaction TX_01J… --wait',
    'npx simbi transaction TX_01J… --token 123456',
  ])
    .option('--wait [seconds]', `wait for the result, at most this long (default ${DEFAULT_WAIT_SECONDS})`)
    .option('--token <digits>', 'first submit the six digits that the payer received by SMS')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (ref: string, options: { json?: boolean; wait?: string | true; token?: string }) => {
      const waitSeconds = readWait(options.wait);
      const credentials = await readCredentials(terminal);
      if (options.token !== undefined)
        await postSigned(credentials, '/api/v3/service-unified-collections/verify', { id: ref, token: options.token });
      await follow(terminal, credentials, ref, waitSeconds, options);
    });
}

/** The seconds of --wait; 0 without it. */
export function readWait(given: string | true | undefined): number {
  if (given === undefined) return 0;
  if (given === true) return DEFAULT_WAIT_SECONDS;
  const seconds = /^\d{1,4}$/.test(given) ? Number(given) : Number.NaN;
  if (!(seconds >= 1 && seconds <= MAX_WAIT_SECONDS))
    throw new CommandError(`--wait must be a number of seconds from 1 to ${MAX_WAIT_SECONDS}.`, EXIT.usage);
  return seconds;
}

/** Prints the record, after waiting for a final status if asked to. Exit code 7 if the payment failed. */
export async function follow(
  terminal: Terminal,
  credentials: Credentials,
  ref: string,
  waitSeconds: number,
  options: { json?: boolean },
): Promise<void> {
  const until = performance.now() + waitSeconds * 1_000;
  let record = await readRecord(credentials, ref);
  let printed = '';
  while (!FINAL.includes(record.status) && performance.now() < until) {
    if (record.status !== printed) terminal.say(`  ${record.status} …`);
    printed = record.status;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    record = await readRecord(credentials, ref);
  }
  print(terminal, options, record, linesOf(record));
  if (record.status === 'failed' || record.status === 'expired' || record.status === 'reversed')
    process.exitCode = EXIT.paymentFailed;
  else if (waitSeconds > 0 && record.status !== 'success') {
    terminal.say(
      `Still ${record.status} after ${waitSeconds} s. Wait longer with: npx simbi transaction ${ref} --wait`,
    );
    process.exitCode = EXIT.unavailable;
  }
}

async function readRecord(credentials: Credentials, ref: string): Promise<TransactionRecord> {
  try {
    const { body } = await postSigned(credentials, '/api/v3/get-unified-transaction-status', { id: ref });
    return body.data as TransactionRecord;
  } catch (error) {
    // The API answers with the sentence of its specification, "Transaction was not created!".
    if (error instanceof CommandError && error.exitCode === EXIT.notFound)
      throw new CommandError(
        `There is no transaction ${ref}. A reference looks like TX_01J…; \`npx simbi collect\` prints it.`,
        EXIT.notFound,
      );
    throw error;
  }
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
