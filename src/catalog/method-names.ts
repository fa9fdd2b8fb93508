// Names of payment methods: what a method may be called, and when two names are the same.

import type { MethodDocument } from './document.ts';

/** Names match without regard to case, spaces, hyphens and underscores. */
export function nameKey(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '');
}

/** Everything a method can be called. */
export function namesOf(
  code: string,
  method: Pick<MethodDocument, 'name' | 'type'> & { aliases: readonly string[] },
): string[] {
  return [code, method.name, ...method.aliases, ...(method.type === 'mobile operator' ? [] : [method.type])];
}
