// The contract of rails, tried on a rail, its simulator and the gateway together. Whatever goes wrong between them: money moves
// at most once, nothing is failed that moved, what nobody answers becomes a case, and no secret is kept where people read.

import { setTimeout as pause } from 'node:timers/promises';
import type { Movement } from '../../simulators/book.ts';
import { FAULTS, type Fault, type Operation, type PlannedFault, seededRandom } from '../../simulators/faults.ts';
import { TRANSFERS_WITH_ACCOUNTS } from '../../src/ledger/reports.ts';
import { isFinal } from '../../src/payments/states.ts';
import { refOf, type Transaction } from '../../src/payments/transactions.ts';
import type { MoneyDirection } from '../../src/rails/rail.ts';
import { compactOf, uuid4Of } from '../../src/rails/wire-ids.ts';
import { differencesOf } from '../books.ts';
import type { OperatorGateway } from './operator-gateway.ts';

const OPERATIONS = { collection: 'collect', payout: 'payout', refund: 'refund' } as const;
const CALLBACK_FAULTS: ReadonlySet<Fault> = new Set(['callback_lost', 'callback_doubled', 'callback_late']);
const AMOUNT = 1_000_00n;
/** After the end: what comes late, twice, or another way. */
const AFTER_MS = [0, 60_000, 1_800_000];
const LATE_LOOKS = 12;
const LATE_PAUSE_MS = 250;
const HALF_HOUR_MS = 1_800_000;
/** Longer than a breaker waits that answers without a meaning have opened: it lets the next payment through. */
const BETWEEN_MS = 10_000;

export type ContractCase = {
  readonly direction: MoneyDirection;
  readonly name: string;
  readonly faults: readonly PlannedFault[];
  /** The payer's number ends with these digits, which decide. */
  readonly payer?: string;
};

export const describeCase = ({ direction, name }: ContractCase) => `${direction}: ${name}`;

/** Every fault in every direction, on the call that moves money and on the query; with and without callbacks. */
export function faultCases({ fields, directions, operator }: OperatorGateway): ContractCase[] {
  const hasTokens = fields.has('token');
  const cases = directions.flatMap((direction): ContractCase[] => [
    { direction, name: 'nothing goes wrong', faults: [] },
    { direction, name: 'no callback ever comes', faults: [NO_CALLBACKS] },
    { direction, name: 'the payer has no money', faults: [], payer: '001' },
    { direction, name: 'the payer does not answer', faults: [], payer: '005' },
    ...FAULTS.filter((fault) => fault !== 'field_renamed').flatMap((fault) => casesOf(direction, fault, hasTokens)),
  ]);
  return cases.filter((each) => !operator.unknowable?.includes(describeCase(each)));
}

const NO_CALLBACKS: PlannedFault = { fault: 'callback_lost', share: 1 };

function casesOf(direction: MoneyDirection, fault: Fault, hasTokens: boolean): ContractCase[] {
  const operation = OPERATIONS[direction];
  if (CALLBACK_FAULTS.has(fault)) return [{ direction, name: fault, faults: [{ fault }] }];
  const onSubmit = { direction, name: `${fault} of ${operation}`, faults: [{ fault, operation }] };
  // Told as failed, and never corrected by anybody: no gateway can know that.
  if (fault === 'late_success') return [onSubmit];
  return [
    onSubmit,
    { direction, name: `${fault} of ${operation}, no callbacks`, faults: [{ fault, operation }, NO_CALLBACKS] },
    { direction, name: `${fault} of query`, faults: [{ fault, operation: 'query' }, NO_CALLBACKS] },
    ...(hasTokens
      ? [
          {
            direction,
            name: `${fault} of token`,
            faults: [
              { fault, operation: 'token' as const },
              { fault: 'token_ended' as const, operation },
            ],
          },
        ]
      : []),
  ];
}

/** Each field that the operator was seen to send, under another name: in one kind of answer, or everywhere. */
export function renamingCases({ fields, directions }: Pick<OperatorGateway, 'fields' | 'directions'>): ContractCase[] {
  return directions.flatMap((direction) => {
    const operations: Operation[] = [OPERATIONS[direction], 'query', 'other', 'token'];
    const all = new Set(operations.flatMap((operation) => fields.of(operation)));
    return [
      ...operations.flatMap((operation) =>
        fields.of(operation).map((field) => ({
          direction,
          name: `${field} of ${operation} has another name`,
          faults: [renamed(field, operation)],
        })),
      ),
      ...[...all].map((field) => renamedEverywhere(direction, field)),
    ];
  });
}

export function renamedEverywhere(direction: MoneyDirection, field: string): ContractCase {
  const operations: Operation[] = [OPERATIONS[direction], 'query', 'other', 'token'];
  const faults = operations.map((operation) => renamed(field, operation));
  return { direction, name: `${field} has another name everywhere`, faults };
}

function renamed(field: string, operation: Operation): PlannedFault {
  return { fault: 'field_renamed', operation, share: 1, rename: { [field]: `renamed_${field}` } };
}

export type CaseResult = { status: Transaction['status']; problems: string[] };

/** Plans the faults, makes one payment and looks at both books when all is over. */
export async function tryCase(opened: OperatorGateway, each: ContractCase): Promise<CaseResult> {
  const { simulator, gateway } = opened;
  gateway.ctx.clock.advance(BETWEEN_MS);
  const collection = each.direction === 'refund' ? await paidCollection(opened) : null;
  const movementsBefore = simulator.book.movements().length;
  for (const fault of each.faults) simulator.faults.add({ ...fault });
  const sent = await begin(opened, each, collection);
  await opened.untilEnded(sent);
  for (const milliseconds of AFTER_MS) {
    gateway.ctx.clock.advance(milliseconds);
    await opened.settle();
  }
  simulator.faults.clear();
  const look = async (): Promise<CaseResult> => {
    const ended = await opened.read(sent);
    const moved = ownMovements(ended, collection, simulator.book.movements().slice(movementsBefore));
    return { status: ended.status, problems: await problemsOf(opened, ended, moved) };
  };
  let result = await look();
  // What comes late comes by a real timer of the simulator, which a busy machine delays.
  for (let tries = 0; result.problems.length > 0 && tries < LATE_LOOKS; tries++) {
    await pause(LATE_PAUSE_MS);
    gateway.ctx.clock.advance(HALF_HOUR_MS);
    await opened.settle();
    result = await look();
  }
  return result;
}

function begin(opened: OperatorGateway, { direction, payer }: ContractCase, collection: Transaction | null) {
  const msisdn = payer ? opened.operator.msisdn.slice(0, -3) + payer : opened.operator.msisdn;
  if (collection) return opened.refund(collection, AMOUNT);
  return direction === 'payout' ? opened.payOut(AMOUNT, msisdn) : opened.collect(AMOUNT, msisdn);
}

async function paidCollection(opened: OperatorGateway): Promise<Transaction> {
  let paid = await opened.untilEnded(await opened.collect(AMOUNT));
  // Once more, if the machine stood still for longer than the gateway waits here for an answer.
  if (paid.status !== 'success') paid = await opened.untilEnded(await opened.collect(AMOUNT));
  if (paid.status !== 'success') throw new Error(`a collection without faults ended as ${paid.status}`);
  await opened.settle();
  return opened.read(paid);
}

/**
 * Without what earlier payments moved late: their payer still had the page, or what could not be sent with a field missing was
 * sent when it came back. Some operators know a refund by its collection only.
 */
function ownMovements(
  ended: Transaction,
  collection: Transaction | null,
  moved: readonly Movement[],
): readonly Movement[] {
  const names = [ended, ...(collection ? [collection] : [])].map(refOf).flatMap(namesOf);
  const own = moved.filter(({ id }) => names.some((name) => id.toUpperCase().includes(name.toUpperCase())));
  return own.length > 0 ? own : moved;
}

/** Our reference as operators write it. */
const namesOf = (ref: string) => [ref, compactOf(ref), uuid4Of(ref), ref.slice(-12)];

/** What is wrong with the end of this payment; nothing, if all is well. */
async function problemsOf(opened: OperatorGateway, ended: Transaction, moved: readonly Movement[]): Promise<string[]> {
  const problems: string[] = [];
  const say = (problem: string) => void problems.push(`${ended.direction} is ${ended.status}: ${problem}`);
  const moves = moved.map(({ kind, amount }) => `${kind} ${amount}`).join(', ');
  if (moved.length > 1) say(`money moved more than once (${moves})`);
  if (ended.status === 'success' && moved.length === 0) say('no money moved');
  if (moved.some(({ amount }) => amount !== ended.amount)) say(`another amount moved (${moves})`);
  if ((ended.status === 'failed' || ended.status === 'expired') && moved.length > 0) say(`money moved (${moves})`);
  const cases = await openCasesOf(opened, ended);
  if (!isFinal(ended.status) && cases.length === 0) say('nobody answers, and there is no case');
  const inBook = moved.reduce((sum, { kind, amount }) => sum + (TAKES_AWAY.has(kind) ? -amount : amount), 0n);
  const inLedger = await clearedBy(opened, ended);
  // What is not booked yet must be a case that people see.
  if (inLedger !== inBook && !(inLedger === 0n && cases.length > 0))
    say(`the ledger has ${inLedger}, the operator ${inBook}, cases: ${cases.join(', ') || 'none'}`);
  return problems;
}

const TAKES_AWAY: ReadonlySet<string> = new Set(['payout', 'refund', 'collection_reversed']);

/** What this payment moved at the operator, as the ledger says. */
async function clearedBy({ gateway }: OperatorGateway, { holder_id, id }: Transaction): Promise<bigint> {
  const [row] = await gateway.ctx.ownerDb.query<{ sum: bigint | null }>(
    `select sum(case when debit = 'operator_clearing' then amount else -amount end)::bigint as sum
     from ${TRANSFERS_WITH_ACCOUNTS} as t
     where holder_id = $1 and transaction_id = $2 and 'operator_clearing' in (debit, credit)`,
    [holder_id, id],
  );
  return row?.sum ?? 0n;
}

async function openCasesOf({ gateway }: OperatorGateway, { holder_id, id }: Transaction): Promise<string[]> {
  const rows = await gateway.ctx.ownerDb.query<{ kind: string }>(
    `select kind from cases where status = 'open' and (holder_id = $1 and transaction_id = $2 or transaction_id is null)`,
    [holder_id, id],
  );
  return rows.map(({ kind }) => kind);
}

/** After all payments: none moved twice, the ledger agrees with itself, and no secret can be read. */
export async function problemsAtEnd(opened: OperatorGateway): Promise<string[]> {
  const differences = (await differencesOf(opened.gateway.ctx)).map((finding) => `ledger: ${JSON.stringify(finding)}`);
  return [...movedTwice(opened), ...differences, ...(await findSecrets(opened))];
}

/** Also what moved long after its own case was looked at. */
function movedTwice({ simulator }: OperatorGateway): string[] {
  const named = simulator.book.movements().filter(({ id }) => id !== '');
  const byName = Map.groupBy(named, ({ kind, id }) => `${kind} ${id}`);
  return [...byName]
    .filter(([, moves]) => moves.length > 1)
    .map(([name, moves]) => `${name} moved ${moves.length} times`);
}

async function findSecrets({ gateway, operator, fields, log }: OperatorGateway): Promise<string[]> {
  const { ctx, services } = gateway;
  for (const job of services.jobs) if (job.name === 'operator_calls') await job.pass();
  const sealed = operator.rail.settings.filter(({ kind, sealed: isSealed }) => kind === 'secret' || isSealed === true);
  const values = sealed.map(({ name, simulator }) => operator.connectionValues[name] ?? simulator ?? '');
  const secrets = [...values, ...fields.tokens()].filter((value) => value.length > 3);
  const texts: Record<string, string> = { log: log() };
  for (const [table, columns] of Object.entries(READ_BY_PEOPLE)) {
    const rows = await ctx.ownerDb.query<{ text: string | null }>(`select ${columns} as text from ${table}`);
    texts[table] = rows.map(({ text }) => text ?? '').join('\n');
  }
  return Object.entries(texts).flatMap(([place, text]) =>
    secrets.filter((secret) => contains(text, secret)).map((secret) => `${place} has the secret ${secret}`),
  );
}

const READ_BY_PEOPLE = {
  evidence: 'raw',
  operator_calls: "concat_ws(' ', path, request, answer)",
  cases: 'detail::text',
  audit_log: 'details::text',
};

/** As it is, or as addresses have it. A PIN is part of many a number, so it counts where it stands alone. */
function contains(text: string, secret: string): boolean {
  if (secret.length < SHORTEST_UNIQUE && /^\d+$/.test(secret)) return new RegExp(`\\b${secret}\\b`).test(text);
  return text.includes(secret) || text.includes(encodeURIComponent(secret));
}

const SHORTEST_UNIQUE = 6;

/** Some of the cases, the same ones for the same seed. */
export function sampleOf<T>(cases: readonly T[], count: number, seed: number): T[] {
  const random = seededRandom(seed);
  const left = [...cases];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(Math.floor(random() * left.length), 1),
  ).flat();
}
