// Reads SQL as PostgreSQL's own parser does, and says what a store over several servers (`simbi distribute`) would refuse or send to
// every server: a distributed table without its holder, rows of several servers locked together, an order of one server.

import { parse } from 'libpg-query';

/** A node of the parser: fields by name. */
type Node = { readonly [field: string]: unknown };

/** What numbers rows or moments of one server only. */
const SERVER_COLUMNS = new Set(['ctid', 'xmin', 'xmax', 'cmin', 'cmax']);
const SERVER_FUNCTIONS = /^(?:txid_|pg_current_xact|pg_current_snapshot|pg_snapshot_|pg_xact_|pg_current_wal)/;

export async function walkStatement(text: string, distributed: ReadonlySet<string>): Promise<string[]> {
  const { stmts } = (await parse(text)) as { stmts: { stmt: Node }[] };
  const found: string[] = [];
  for (const { stmt } of stmts) walkQuery(stmt, { distributed, named: new Set(), say: (what) => found.push(what) });
  return [...new Set(found)];
}

type Walk = {
  readonly distributed: ReadonlySet<string>;
  /** Names of queries (`with`): they hide tables of the same name. */
  readonly named: ReadonlySet<string>;
  say(what: string): void;
};

/** One source of rows in a query: a table, or what brings rows to it (a list, a subquery, a query with a name). */
type Source = { readonly name: string; readonly table: string | null };

class Level {
  readonly sources: Source[] = [];
  /** What stands on each side of an outer join. */
  readonly outerJoins: { kept: string[]; joined: string[] }[] = [];
  /** Which holder columns are the same. `one`: a single value; `rows`: one for each row of a list or another query. */
  readonly #same = new Map<string, string>();

  root(name: string): string {
    const next = this.#same.get(name);
    return next === undefined ? name : this.root(next);
  }

  join(left: string, right: string): void {
    const [a, b] = [this.root(left), this.root(right)];
    // The stronger one becomes the root.
    const isStronger = a === 'one' || (a === 'rows' && b !== 'one');
    if (a !== b) this.#same.set(isStronger ? b : a, isStronger ? a : b);
  }
}

const childrenOf = (node: unknown): unknown[] =>
  Array.isArray(node) ? node : node !== null && typeof node === 'object' ? Object.values(node) : [];

const listOf = (value: unknown): Node[] => (Array.isArray(value) ? (value as Node[]) : []);
const kindOf = (node: unknown): [string, Node] =>
  (Object.entries((node ?? {}) as Node)[0] ?? ['', {}]) as [string, Node];
const textOf = (node: unknown): string => String((kindOf(node)[1] as { sval?: string }).sval ?? '');

/** Parts of a query that are read by themselves. */
const WALKED = new Set(['withClause', 'larg', 'rarg', 'fromClause', 'usingClause', 'relation']);

const STATEMENTS = new Set(['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt']);

function walkQuery(node: Node, walk: Walk): void {
  const [kind, query] = kindOf(node);
  if (!STATEMENTS.has(kind)) return;
  const { ctes = [], recursive = false } = (query.withClause ?? {}) as { ctes?: Node[]; recursive?: boolean };
  const named = new Set(walk.named);
  const inner: Walk = { ...walk, named };
  for (const cte of ctes) {
    const { ctename, ctequery } = cte.CommonTableExpr as { ctename: string; ctequery: Node };
    if (recursive) named.add(ctename);
    const read = namesIn(ctequery, walk.distributed);
    if (recursive && namesIn(ctequery, named).includes(ctename) && read.length > 0)
      walk.say(`a recursive query reads ${read.join(', ')}`);
    walkQuery(ctequery, inner);
    named.add(ctename);
  }
  for (const side of [query.larg, query.rarg]) if (side) walkQuery({ SelectStmt: side }, inner);
  const level = new Level();
  if (kind === 'InsertStmt') {
    walkInsert(query, inner);
    return;
  }
  const from = [...listOf(query.fromClause), ...listOf(query.usingClause)];
  if (query.relation) addTable(query.relation as Node, level, inner);
  for (const each of from) addSource(each, level, inner);
  for (const each of from) readJoin(each, level, inner);
  readCondition(query.whereClause, level);
  requireHolders(kind, level, inner);
  requirePartners(level, inner);
  requireOneServer(query, level, inner);
  for (const [field, value] of Object.entries(query)) if (!WALKED.has(field)) walkExpressions(value, level, inner);
}

function walkInsert(query: Node, walk: Walk): void {
  const { relname } = query.relation as { relname: string };
  const columns = listOf(query.cols).map((column) => String((column.ResTarget as { name: string }).name));
  if (walk.distributed.has(relname) && !columns.includes('holder_id'))
    walk.say(`a row of ${relname} is added without its holder`);
  if (query.selectStmt) walkQuery(query.selectStmt as Node, walk);
}

function addTable(range: Node, level: Level, { named }: Walk): void {
  const { relname, alias } = range as { relname: string; alias?: { aliasname: string } };
  level.sources.push({ name: alias?.aliasname ?? relname, table: named.has(relname) ? null : relname });
}

function addSource(node: Node, level: Level, walk: Walk): void {
  const [kind, source] = kindOf(node);
  if (kind === 'RangeVar') addTable(source, level, walk);
  else if (kind === 'JoinExpr') for (const side of [source.larg, source.rarg]) addSource(side as Node, level, walk);
  else {
    const name = (source.alias as { aliasname?: string } | undefined)?.aliasname ?? '';
    level.sources.push({ name, table: null });
    level.join(name, 'rows');
    if (kind === 'RangeSubselect') walkQuery(source.subquery as Node, walk);
  }
}

function sourcesIn(node: Node): string[] {
  const [kind, source] = kindOf(node);
  if (kind === 'JoinExpr') return [source.larg, source.rarg].flatMap((side) => sourcesIn(side as Node));
  const alias = (source.alias as { aliasname?: string } | undefined)?.aliasname;
  return [alias ?? (source.relname as string | undefined) ?? ''];
}

function readJoin(node: Node, level: Level, walk: Walk): void {
  const [kind, join] = kindOf(node);
  if (kind !== 'JoinExpr') return;
  for (const side of [join.larg, join.rarg]) readJoin(side as Node, level, walk);
  if (join.jointype === 'JOIN_LEFT')
    level.outerJoins.push({ kept: sourcesIn(join.larg as Node), joined: sourcesIn(join.rarg as Node) });
  if (listOf(join.usingClause).some((column) => textOf(column) === 'holder_id')) {
    const [first, ...others] = sourcesIn({ JoinExpr: join });
    for (const other of others) if (first !== undefined) level.join(first, other);
  }
  readCondition(join.quals, level);
  walkExpressions(join.quals, level, walk);
}

/** The conditions that hold for every row: what stands between "and". */
function readCondition(node: unknown, level: Level): void {
  const [kind, condition] = kindOf(node);
  if (kind === 'BoolExpr' && condition.boolop === 'AND_EXPR') {
    for (const each of listOf(condition.args)) readCondition(each, level);
  } else if (kind === 'A_Expr' && textOf(listOf(condition.name)[0]) === '=') {
    const plain = condition.kind === 'AEXPR_OP';
    for (const left of holdersIn(condition.lexpr, level)) {
      const right = holdersIn(condition.rexpr, level);
      if (right.length > 0) for (const each of right) level.join(left, each);
      else level.join(left, plain && isValue(condition.rexpr) ? 'one' : 'rows');
    }
  } else if (kind === 'SubLink' && condition.subLinkType === 'ANY_SUBLINK') {
    for (const left of holdersIn(condition.testexpr, level)) level.join(left, 'rows');
  }
}

const isValue = (node: unknown): boolean => {
  const [kind, value] = kindOf(node);
  return kind === 'ParamRef' || kind === 'A_Const' || (kind === 'TypeCast' && isValue(value.arg));
};

/** The sources whose holder an expression is; `rows` when it is the holder of a query around this one. */
function holdersIn(node: unknown, level: Level): string[] {
  const [kind, expression] = kindOf(node);
  if (kind === 'RowExpr') return listOf(expression.args).flatMap((each) => holdersIn(each, level));
  if (kind !== 'ColumnRef') return [];
  const fields = listOf(expression.fields).map(textOf);
  if (fields.at(-1) !== 'holder_id') return [];
  if (fields.length === 1) {
    const own = level.sources.filter(({ table }) => table !== null).map(({ name }) => name);
    return own.length > 0 ? own : level.sources.map(({ name }) => name);
  }
  const name = fields.at(-2) ?? '';
  return level.sources.some((source) => source.name === name) ? [name] : ['rows'];
}

function requireHolders(kind: string, level: Level, walk: Walk): void {
  for (const { name, table } of level.sources) {
    if (table === null || !walk.distributed.has(table)) continue;
    const root = level.root(name);
    const isNamed =
      root === 'one' ||
      root === 'rows' ||
      level.sources.some((other) => isCarrier(other, walk) && level.root(other.name) === root);
    if (!isNamed) walk.say(`${kind} of ${table} without its holder`);
  }
}

/** A list that keeps its rows: the servers cannot know which rows have no partner, so all rows of the table would travel. */
function requirePartners(level: Level, walk: Walk): void {
  const isOfHolders = (name: string) =>
    level.sources.some((source) => source.name === name && source.table !== null && walk.distributed.has(source.table));
  for (const { kept, joined } of level.outerJoins)
    if (!kept.some(isOfHolders))
      for (const name of joined)
        if (isOfHolders(name) && level.root(name) !== 'one') walk.say(`${name} is joined as a whole to a list`);
}

/** Brings rows with their holders: not a table of holders itself. Queries with a name are read by themselves. */
const isCarrier = ({ table }: Source, { distributed }: Walk): boolean => table === null || !distributed.has(table);

/** A lock on rows of holders: all of one holder, and no table of the coordinator beside them. */
function requireOneServer(query: Node, level: Level, walk: Walk): void {
  const clauses = listOf(query.lockingClause).map((each) => each.LockingClause as Node);
  if (clauses.length === 0) return;
  const isOfHolders = ({ table }: Source) => table !== null && walk.distributed.has(table);
  const local = level.sources.find((source) => source.table !== null && !isOfHolders(source));
  if (local && level.sources.some(isOfHolders))
    walk.say(`rows are locked beside ${local.table}, which is on the coordinator`);
  const named = clauses.flatMap((clause) =>
    listOf(clause.lockedRels).map((each) => String((each.RangeVar as Node).relname)),
  );
  for (const { name, table } of level.sources) {
    if (table === null || !walk.distributed.has(table)) continue;
    if (named.length > 0 && !named.includes(name)) continue;
    if (level.root(name) !== 'one') walk.say(`rows of ${table} are locked on several servers`);
  }
}

/** Subqueries inside expressions, and what only one server knows. */
function walkExpressions(node: unknown, level: Level, walk: Walk): void {
  const [kind, value] = kindOf(node);
  const isHere = level.sources.some(({ table }) => table !== null && walk.distributed.has(table));
  if (kind === 'ColumnRef') {
    const column = listOf(value.fields).map(textOf).at(-1) ?? '';
    if (SERVER_COLUMNS.has(column) && isHere) walk.say(`${column} is a number of one server`);
  }
  if (kind === 'FuncCall') {
    const name = listOf(value.funcname).map(textOf).at(-1) ?? '';
    if (SERVER_FUNCTIONS.test(name)) walk.say(`${name} is known to one server only`);
  }
  if (kind === 'SubLink') {
    const read = namesIn(value.subselect, walk.distributed);
    if (read.length > 0 && !isHere && level.sources.length > 0 && isCorrelated(value.subselect, level))
      walk.say(`${read.join(', ')} is read once for each row of a list`);
    walkQuery(value.subselect as Node, walk);
    return;
  }
  for (const child of childrenOf(node))
    if (typeof child === 'object' && child !== null) walkExpressions(child, level, walk);
}

function isCorrelated(node: unknown, level: Level): boolean {
  const [kind, value] = kindOf(node);
  if (kind === 'ColumnRef') {
    const fields = listOf(value.fields).map(textOf);
    return fields.length > 1 && level.sources.some(({ name }) => name === fields.at(-2));
  }
  return childrenOf(node).some((child) => typeof child === 'object' && child !== null && isCorrelated(child, level));
}

/** The distributed tables that a query names, at any depth. */
export function namesIn(node: unknown, distributed: ReadonlySet<string>): string[] {
  const names = new Set<string>();
  const look = (each: unknown): void => {
    const relname = (each as { relname?: unknown } | null)?.relname;
    if (typeof relname === 'string' && distributed.has(relname)) names.add(relname);
    for (const child of childrenOf(each)) if (typeof child === 'object') look(child);
  };
  look(node);
  return [...names];
}
