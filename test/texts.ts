// The texts of a catalogue of messages, with the values of its functions marked.

/** Where a message takes an object: every member that one has. */
const FACTS: Readonly<Record<string, string | string[]>> = {
  ...Object.fromEntries(
    ['by', 'holder', 'role', 'url', 'email', 'day', 'succeeded', 'failed'].map((name) => [name, `‹${name}›`]),
  ),
  kind: 'low_float',
  lines: ['‹lines›'],
  money: ['‹money›'],
};

/** Every text with its path; a function is called with `‹1›`, `‹2›` … in place of its values. */
export function allTexts(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') {
    const takesObject = String(value).startsWith('({');
    const message = value as (...given: unknown[]) => unknown;
    return allTexts(takesObject ? message(FACTS) : message('‹1›', '‹2›', '‹3›'), path);
  }
  return Object.entries(value as Record<string, unknown>).flatMap(([key, inner]) => allTexts(inner, `${path}.${key}`));
}
