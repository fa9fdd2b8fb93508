// Every command: its name and arguments, one line about it, and the file that has the rest. The files are loaded when their
// command is used, so that `simbi --help` needs none of them, and `simbi balance` one.

import type { Command } from 'commander';
import type { Terminal } from './terminal.ts';

/** Gives a command its options, its examples and what it does. A group gets its commands. */
type SetUp = (command: Command, terminal: Terminal) => void;
export type CommandEntry = { usage: string; summary: string; load(): Promise<SetUp> };
type Section = { heading: string; commands: CommandEntry[] };

function entry<Name extends string>(
  usage: string,
  summary: string,
  load: () => Promise<Record<Name, SetUp>>,
  name: Name,
): CommandEntry {
  return { usage, summary, load: async () => (await load())[name] };
}

const START: CommandEntry[] = [
  entry('up', 'start everything, with short output for a terminal', () => import('./serve.ts'), 'upCommand'),
  entry('status', 'show whether the service is running and ready', () => import('./status.ts'), 'statusCommand'),
  entry(
    'doctor',
    'check everything a start depends on; print a fix for each problem',
    () => import('./doctor.ts'),
    'doctorCommand',
  ),
];

const MONEY: CommandEntry[] = [
  entry(
    'collect <amount> <currency>',
    'request a payment from a customer',
    () => import('./collect.ts'),
    'collectCommand',
  ),
  entry(
    'transaction <ref>',
    'show a transaction; with --wait, wait for its result',
    () => import('./transaction.ts'),
    'transactionCommand',
  ),
  entry('balance', 'show the wallet balances', () => import('./balance.ts'), 'balanceCommand'),
  entry('link', 'create, list and disable payment links', () => import('./link.ts'), 'linkCommands'),
  entry('pay [link]', 'show a payment link with a QR code for a phone', () => import('./pay.ts'), 'payCommand'),
  entry('payout', 'order, approve, cancel and list payouts', () => import('./payout.ts'), 'payoutCommands'),
  entry('refund', 'give collections back, whole or in parts', () => import('./refund.ts'), 'refundCommands'),
  entry('dispute', 'open and list disputes', () => import('./dispute.ts'), 'disputeCommands'),
];

const BOOKS: CommandEntry[] = [
  entry(
    'reconcile <connection>',
    "compare an operator's statement with payments and the ledger, and apply it",
    () => import('./reconcile.ts'),
    'reconcileCommand',
  ),
  entry('breaks', 'list and resolve what does not agree', () => import('./reconcile.ts'), 'breaksCommands'),
  entry(
    'close <connection>',
    'close a day of a connection, or reopen it',
    () => import('./reconcile.ts'),
    'closeCommand',
  ),
  entry('float', 'what operators hold for payouts, and what waits for it', () => import('./float.ts'), 'floatCommands'),
  entry(
    'settle',
    'settle wallets to banks and phones, and operators to our bank',
    () => import('./settle.ts'),
    'settleCommands',
  ),
  entry('bank', 'add and list our accounts at banks', () => import('./bank.ts'), 'bankCommands'),
  entry(
    'margin',
    'what each method earned and what its operator charged',
    () => import('./reconcile.ts'),
    'marginCommand',
  ),
];

const SANDBOX: CommandEntry[] = [
  entry(
    'phone <number>',
    'use the test phone: read messages, dial, enter the PIN',
    () => import('./phone.ts'),
    'phoneCommand',
  ),
  entry(
    'trigger <event>',
    'make a test payment that ends in a given way, with its event',
    () => import('./trigger.ts'),
    'triggerCommand',
  ),
  entry('clock', 'show the time of the sandbox, or let some of it pass', () => import('./clock.ts'), 'clockCommand'),
  entry('topup <amount> <currency>', 'add test money to a sandbox wallet', () => import('./topup.ts'), 'topUpCommand'),
  entry(
    'simulate <rail>',
    'run the simulator of an operator on this machine',
    () => import('./simulate.ts'),
    'simulateCommand',
  ),
];

const DEVELOPERS: CommandEntry[] = [
  entry('sign', 'sign a request body and print it, ready to send', () => import('./sign.ts'), 'signCommand'),
  entry('token', 'get an API token', () => import('./token.ts'), 'tokenCommand'),
  entry('logs', 'show API requests and why they were refused; --follow', () => import('./logs.ts'), 'logsCommand'),
  entry('callbacks', 'list, resend, replay and forward callbacks', () => import('./callbacks.ts'), 'callbackCommands'),
  entry(
    'integration',
    'create, list, rotate and revoke API integrations, and their keys',
    () => import('./integration.ts'),
    'integrationCommands',
  ),
];

const PEOPLE: CommandEntry[] = [
  entry('login-link [email]', 'create a one-time sign-in link', () => import('./login-link.ts'), 'loginLinkCommand'),
  entry('holder', 'create, list, suspend and close holders', () => import('./holder.ts'), 'holderCommands'),
  entry('admin', 'administrators: people who manage every holder', () => import('./admin.ts'), 'adminCommands'),
  entry('audit', 'export and verify the audit log', () => import('./audit.ts'), 'auditCommands'),
];

const OPERATING: CommandEntry[] = [
  entry(
    'serve',
    'start the service for a process manager, with the log on standard output',
    () => import('./serve.ts'),
    'serveCommand',
  ),
  entry(
    'worker',
    'start background work only, like serve with ROLE=worker',
    () => import('./serve.ts'),
    'workerCommand',
  ),
  entry('migrate', 'apply missing migrations to the database', () => import('./migrate.ts'), 'migrateCommand'),
  entry(
    'distribute',
    'spread the tables of holders over the servers of a Citus cluster',
    () => import('./distribute.ts'),
    'distributeCommand',
  ),
  entry(
    'rail',
    'connect operators, and choose which of them serve a payment method',
    () => import('./rail.ts'),
    'railCommands',
  ),
  entry(
    'statement',
    "import and show operators' statements of our accounts",
    () => import('./statement.ts'),
    'statementCommands',
  ),
  entry('ledger', 'check the ledger', () => import('./ledger.ts'), 'ledgerCommands'),
  entry('block', 'block phone numbers, and list them', () => import('./block.ts'), 'blockCommands'),
  entry(
    'limits',
    'show who is held back by a limit; set the limits of a holder',
    () => import('./limits.ts'),
    'limitsCommands',
  ),
  entry(
    'keys',
    'list, rotate and retire the keys that seal secrets; make a key for backups',
    () => import('./keys.ts'),
    'keysCommands',
  ),
  entry(
    'archive',
    'write months of payments to files, verify them, and remove old evidence from the database',
    () => import('./archive.ts'),
    'archiveCommands',
  ),
  entry(
    'backup <file>',
    'write everything to one file while the service runs',
    () => import('./backup.ts'),
    'backupCommand',
  ),
  entry(
    'restore <file>',
    'restore a backup into a new data directory or an empty database',
    () => import('./backup.ts'),
    'restoreCommand',
  ),
  entry(
    'after-restore',
    'prepare a database that was restored with the tools of PostgreSQL',
    () => import('./backup.ts'),
    'afterRestoreCommand',
  ),
];

export const SECTIONS: readonly Section[] = [
  { heading: 'Start:', commands: START },
  { heading: 'Money:', commands: MONEY },
  { heading: 'Books:', commands: BOOKS },
  { heading: 'Sandbox:', commands: SANDBOX },
  { heading: 'Developers:', commands: DEVELOPERS },
  { heading: 'People:', commands: PEOPLE },
  { heading: 'Operating:', commands: OPERATING },
];
