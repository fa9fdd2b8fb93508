// What a migration must not do while the version before it runs. `meaning`: it takes away or tightens what that version uses; a
// later release may do it, marked as a contract step. `time`: requests wait while rows are read or written under a lock.

import type { HeldLock, SchemaFact, SchemaFacts } from './schema-facts.ts';
import type { SqlStatement } from './sql-statements.ts';

/** One statement of a migration, and what it did. */
export type MigrationStep = {
  statement: SqlStatement;
  /** What the server calls it: ALTER, UPDATE, DO … */
  command: string;
  before: SchemaFacts;
  after: SchemaFacts;
  /** Before and after it; locks are held until the end of the migration. */
  held: HeldLock[];
  locks: HeldLock[];
};

export type Breach = {
  step: MigrationStep;
  kind: 'meaning' | 'time';
  table: string | null;
  why: string;
  instead: string;
};

type Rule = (step: MigrationStep, baseline: SchemaFacts) => Omit<Breach, 'step'>[];

/** From weak to strong: those from ShareLock on keep statements of the service waiting. */
const LOCK_MODES = [
  'AccessShareLock',
  'RowShareLock',
  'RowExclusiveLock',
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
];
const FIRST_BLOCKING = LOCK_MODES.indexOf('ShareLock');
/** Commands that read or write rows, and may do so for long. */
const WITH_ROWS = /^(?:SELECT|INSERT|UPDATE|DELETE|MERGE|DO|CALL)$/;

const NEXT_RELEASE = 'Stop using it in this release, and do this in the next one, marked "-- contract: after NNNN: …".';
const IN_BACKGROUND = 'Let a background job of the service do it, some thousand rows in each transaction.';

/** The strongest lock that a transaction holds on a table. */
export function strongestLock(locks: HeldLock[], table: string | null): string | null {
  const modes = locks.filter((lock) => lock.table === table).map((lock) => LOCK_MODES.indexOf(lock.mode));
  return modes.length > 0 ? (LOCK_MODES[Math.max(...modes)] ?? null) : null;
}

/** Everything that is wrong with a migration, in the order of its statements. `baseline`: the schema of the version before. */
export function findBreaches(steps: MigrationStep[], baseline: SchemaFacts): Breach[] {
  const found = steps.flatMap((step) =>
    RULES.flatMap((rule) => rule(step, baseline).map((each) => ({ step, ...each }))),
  );
  const all = [...found, ...gone(steps, baseline)];
  return all.toSorted((left, right) => left.step.statement.line - right.step.statement.line);
}

type Change = {
  was: SchemaFact;
  is: SchemaFact;
  /** The version before has it; otherwise it is a new part of a table that it has. */
  known: boolean;
};

function changed(step: MigrationStep, baseline: SchemaFacts): Change[] {
  return [...step.before].flatMap(([key, was]) => {
    const is = step.after.get(key);
    const known = baseline.has(key);
    return is && (known || isOfBaseline(was, baseline)) ? [{ was, is, known }] : [];
  });
}

function added(step: MigrationStep, baseline: SchemaFacts): SchemaFact[] {
  return [...step.after]
    .filter(([key, fact]) => !step.before.has(key) && isOfBaseline(fact, baseline))
    .map(([, fact]) => fact);
}

/** Part of a table, or of a type, that the version before has. */
function isOfBaseline({ tableId }: SchemaFact, baseline: SchemaFacts): boolean {
  return baseline.has(`table ${tableId}`) || baseline.has(`type ${tableId}`);
}

const nameOf = ({ kind, name, table }: SchemaFact) =>
  table && table !== name ? `the ${kind} ${name} of ${table}` : `the ${kind} ${name}`;

/**
 * What is gone at the end of the migration, without another one of the same name in its place: a constraint may be replaced by a
 * wider one, and a trigger or a function by its next form.
 */
function gone(steps: MigrationStep[], baseline: SchemaFacts): Breach[] {
  const end = steps.at(-1)?.after ?? baseline;
  const isGone = (key: string) => !end.has(key);
  const replaced = (fact: SchemaFact) =>
    ['constraint', 'trigger', 'function', 'view'].includes(fact.kind) &&
    [...end.values()].some(
      ({ kind, name, tableId }) => kind === fact.kind && name === fact.name && tableId === fact.tableId,
    );
  const isPartOfGone = ({ kind, tableId, columns }: SchemaFact) =>
    (kind !== 'table' && tableId !== null && isGone(`table ${tableId}`) && isGone(`type ${tableId}`)) ||
    columns?.some((column) => ![...end.values()].some((each) => isColumn(each, tableId, column)));
  return [...baseline].flatMap(([key, fact]) => {
    const step = steps.find(({ before, after }) => before.has(key) && !after.has(key));
    // An index may go: statements become slower, not wrong.
    if (!step || fact.kind === 'index' || !isGone(key) || isPartOfGone(fact) || replaced(fact)) return [];
    const why = sentence(`${nameOf(fact)} is dropped, and the version before may rely on it.`);
    return [{ step, kind: 'meaning' as const, table: fact.table, why, instead: NEXT_RELEASE }];
  });
}

function isColumn(fact: SchemaFact, tableId: string | null, name: string): boolean {
  return fact.kind === 'column' && fact.tableId === tableId && fact.name === name;
}

const RULES: Rule[] = [
  function renamed(step, baseline) {
    return changed(step, baseline)
      .filter(({ was, is, known }) => known && was.name !== is.name && was.kind !== 'index')
      .map(({ was, is }) => ({
        kind: 'meaning',
        table: is.table,
        why: sentence(`${nameOf(was)} is now called ${is.name}, and the version before does not know that name.`),
        instead: 'Add one with the new name beside it, use both in this release, and drop the old one in the next.',
      }));
  },
  function columnChanged(step, baseline) {
    return changed(step, baseline)
      .filter(({ was }) => was.kind === 'column')
      .flatMap(({ was, is, known }) => [
        ...(!known || was.type === is.type ? [] : [typeChanged(was, is)]),
        ...(is.required && !was.required ? tightened(step, is) : []),
        ...(is.required && was.filled && !is.filled ? [defaultGone(is)] : []),
      ]);
  },
  function columnAdded(step, baseline) {
    return added(step, baseline)
      .filter(({ kind, required, filled }) => kind === 'column' && required && !filled)
      .map((column) => ({
        kind: 'meaning',
        table: column.table,
        why: sentence(`${nameOf(column)} must have a value, and the version before does not write it.`),
        instead: 'Add it with a default, or without "not null", which a contract step of the next release adds.',
      }));
  },
  function triggerDisabled(step, baseline) {
    return changed(step, baseline)
      .filter(({ was, is, known }) => known && was.kind === 'trigger' && was.type !== is.type)
      .map(({ is }) => ({
        kind: 'meaning',
        table: is.table,
        why: sentence(`${nameOf(is)} fires at other times, and the version before may rely on it.`),
        instead: NEXT_RELEASE,
      }));
  },
  function rewritten(step, baseline) {
    const files = changed(step, baseline).filter(({ was, is }) => was.file !== null && was.file !== is.file);
    const tables = new Set(files.filter(({ is }) => is.kind === 'table').map(({ is }) => is.table));
    return files
      .filter(({ is }) => is.kind === 'table' || (is.kind === 'index' && !tables.has(is.table)))
      .map(({ is }) => ({
        kind: 'time',
        table: is.table,
        why:
          is.kind === 'index'
            ? `The index ${is.name} is built anew while nobody can write to ${is.table}.`
            : `The table ${is.table} is written anew, or emptied, while nobody can read or write it.`,
        instead:
          'Add a column beside the old one (a constant default costs nothing), fill it by a background job, and switch over.',
      }));
  },
  function indexBuilt(step, baseline) {
    return added(step, baseline)
      .filter(({ kind }) => kind === 'index')
      .map(({ name, table }) => ({
        kind: 'time',
        table,
        why: `The index ${name} is built while nobody can write to ${table}.`,
        instead:
          'In a migration of its own, "create index concurrently"; a unique constraint is then added "using index" in the next one.',
      }));
  },
  function constraintChecked(step, baseline) {
    const read = (constraint: SchemaFact, instead: string) => ({
      kind: 'time' as const,
      table: constraint.table,
      why: `Every row of ${constraint.table ?? 'the tables of the type'} is compared with ${constraint.name} while nobody can write.`,
      instead,
    });
    const isCheck = ({ kind, type }: SchemaFact) => kind === 'constraint' && (type === 'c' || type === 'f');
    const atOnce = added(step, baseline).filter((fact) => isCheck(fact) && fact.valid);
    const later = changed(step, baseline).filter(
      ({ was, is }) => isCheck(is) && is.valid && !was.valid && isBlocked(step.held, is.table),
    );
    return [
      ...atOnce.map((fact) =>
        read(fact, 'Add it "not valid", and "validate constraint" in a migration of its own after it.'),
      ),
      ...later.map(({ is }) =>
        read(is, '"validate constraint" in a migration of its own: this one still locks the table.'),
      ),
    ];
  },
  function rowsChanged(step, baseline) {
    if (step.command === 'INSERT') return [];
    return newlyLocked(step, baseline, ['RowExclusiveLock']).map((table) => ({
      kind: 'time',
      table,
      why: `Rows of ${table} are changed in one transaction, and stay locked until its end.`,
      instead: IN_BACKGROUND,
    }));
  },
  function rowsUnderLock(step, baseline) {
    const blocked = step.held.filter(
      ({ tableId, table }) => baseline.has(`table ${tableId}`) && isBlocked(step.held, table),
    );
    if (blocked.length === 0 || !WITH_ROWS.test(step.command)) return [];
    const tables = newlyLocked(step, baseline, ['AccessShareLock', 'RowShareLock']);
    return tables.map((table) => ({
      kind: 'time',
      table,
      why: `Rows of ${table} are read while ${[...new Set(blocked.map((lock) => lock.table))].join(', ')} stays locked.`,
      instead: 'Put it into a migration of its own, before the one that locks.',
    }));
  },
  function lockedByName(step, baseline) {
    if (step.command !== 'LOCK') return [];
    return newlyLocked(step, baseline, LOCK_MODES.slice(FIRST_BLOCKING)).map((table) => ({
      kind: 'time',
      table,
      why: `The table ${table} is locked until the end of the migration.`,
      instead: 'Leave the lock out; each statement takes the one that it needs.',
    }));
  },
];

function typeChanged(was: SchemaFact, is: SchemaFact): Omit<Breach, 'step'> {
  return {
    kind: 'meaning',
    table: is.table,
    why: sentence(
      `${nameOf(is)} was ${was.type} and becomes ${is.type}, and the version before reads and writes the old type.`,
    ),
    instead: 'Add a column of the new type beside it, write both in this release, and drop the old one in the next.',
  };
}

/** PostgreSQL does not read the table where a valid constraint has proven it already. */
function tightened(step: MigrationStep, column: SchemaFact): Omit<Breach, 'step'>[] {
  const proof = `CHECK ((${column.name} IS NOT NULL))`;
  const isProven = [...step.before.values()].some(
    ({ kind, tableId, valid, definition }) =>
      kind === 'constraint' && tableId === column.tableId && valid && definition === proof,
  );
  const meaning = {
    kind: 'meaning' as const,
    table: column.table,
    why: sentence(`${nameOf(column)} must have a value from now on, and the version before may leave it out.`),
    instead: `Always write it in this release. ${NEXT_RELEASE}`,
  };
  const time = {
    kind: 'time' as const,
    table: column.table,
    why: `Every row of ${column.table} is read while nobody can read or write it.`,
    instead: `Add "check (${column.name} is not null) not valid" and validate it in migrations before; then nothing is read.`,
  };
  return isProven ? [meaning] : [meaning, time];
}

function defaultGone(column: SchemaFact): Omit<Breach, 'step'> {
  return {
    kind: 'meaning',
    table: column.table,
    why: sentence(`${nameOf(column)} loses its default, and the version before may leave it out.`),
    instead: NEXT_RELEASE,
  };
}

function isBlocked(locks: HeldLock[], table: string | null): boolean {
  return LOCK_MODES.indexOf(strongestLock(locks, table) ?? '') >= FIRST_BLOCKING;
}

/** Tables of the version before on which this statement took one of these locks. */
function newlyLocked(step: MigrationStep, baseline: SchemaFacts, modes: string[]): string[] {
  const had = new Set(step.held.map(({ tableId, mode }) => `${tableId} ${mode}`));
  const taken = step.locks.filter(
    ({ tableId, mode }) => modes.includes(mode) && !had.has(`${tableId} ${mode}`) && baseline.has(`table ${tableId}`),
  );
  return [...new Set(taken.map(({ table }) => table))];
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
