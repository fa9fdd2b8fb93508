// Splits the text of a migration into its statements. They are sent one at a time: an error then names its line, an index can be
// built outside a transaction, and Citus takes no message with several statements.

export type SqlStatement = {
  sql: string;
  /** Where it begins in the file, from 1. */
  line: number;
};

/** What is skipped as a whole, because a semicolon in it ends nothing. */
const COMMENT = /--[^\n]*/y;
const SPACE = /\s+/y;
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"/y;
/** A string in which a backslash escapes the next character. */
const ESCAPED = /[eE]'(?:[^'\\]|''|\\[\s\S])*'/y;
/** Two of these with the same name enclose the body of a function. */
const DOLLAR = /\$(?:[A-Za-z_]\w*)?\$/y;
const WORD = /[A-Za-z_][\w$]*/y;
const NUMBER = /\d[\w.$]*/y;

/** Throws when a string, a comment or a body has no end. */
export function splitStatements(text: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let start = -1;
  let depth = 0;
  let word = '';
  for (let at = 0; at < text.length; ) {
    const next = endOfToken(text, at);
    const isBlank = next.kind === 'space' || next.kind === 'comment';
    if (next.kind === 'end' && depth <= 0) {
      if (start >= 0) statements.push(statementAt(text, start, at));
      start = -1;
      depth = 0;
    } else if (!isBlank && start < 0) start = at;
    if (next.kind === 'open') depth++;
    if (next.kind === 'close') depth--;
    if (next.kind === 'word') {
      const before = word;
      word = text.slice(at, next.end).toLowerCase();
      depth += depthOfWord(before, word, depth);
    }
    at = next.end;
  }
  if (start >= 0) statements.push(statementAt(text, start, text.length));
  return statements;
}

/** The body of a function in standard SQL has semicolons between `begin atomic` and its `end`; `case` ends with the same word. */
function depthOfWord(before: string, word: string, depth: number): number {
  if (word === 'atomic' && before === 'begin') return 1;
  if (depth > 0 && word === 'case') return 1;
  return depth > 0 && word === 'end' ? -1 : 0;
}

function statementAt(text: string, start: number, end: number): SqlStatement {
  return { sql: text.slice(start, end).trimEnd(), line: text.slice(0, start).split('\n').length };
}

type Token = { kind: 'space' | 'comment' | 'word' | 'open' | 'close' | 'end' | 'other'; end: number };

function endOfToken(text: string, at: number): Token {
  const found = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.test(text) ? pattern.lastIndex : -1;
  };
  const kinds = [
    ['space', SPACE],
    ['comment', COMMENT],
    ['other', ESCAPED],
    ['word', WORD],
    ['other', NUMBER],
    ['other', QUOTED],
  ] as const;
  for (const [kind, pattern] of kinds) {
    const end = found(pattern);
    if (end > at) return { kind, end };
  }
  if (text.startsWith('/*', at)) return { kind: 'comment', end: endOfComment(text, at) };
  const dollar = found(DOLLAR);
  if (dollar > at) {
    const end = text.indexOf(text.slice(at, dollar), dollar);
    if (end < 0) throw unfinished(text, at);
    return { kind: 'other', end: end + dollar - at };
  }
  const character = text.charAt(at);
  if (character === "'" || character === '"') throw unfinished(text, at);
  if (character === '(') return { kind: 'open', end: at + 1 };
  if (character === ')') return { kind: 'close', end: at + 1 };
  return { kind: character === ';' ? 'end' : 'other', end: at + 1 };
}

/** Comments of this form may contain one another. */
function endOfComment(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text.startsWith('/*', at)) {
      depth++;
      at++;
    } else if (text.startsWith('*/', at)) {
      depth--;
      at++;
      if (depth === 0) return at + 1;
    }
  }
  throw unfinished(text, start);
}

function unfinished(text: string, at: number): Error {
  return new Error(
    `what begins with ${text.slice(at, at + 10)} in line ${text.slice(0, at).split('\n').length} has no end`,
  );
}
