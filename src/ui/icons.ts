// Icons of the Lucide set, inlined: icons.svg has those that are used, under the names that Lucide gives them.

import { readFileSync } from 'node:fs';
import { type Html, trusted } from '../platform/html.ts';

const FILE = readFileSync(new URL('./icons.svg', import.meta.url), 'utf8');
const DRAWINGS: ReadonlyMap<string, string> = new Map(
  [...FILE.matchAll(/<symbol id="([a-z0-9-]+)">([\s\S]*?)<\/symbol>/g)].map(([, name = '', shapes = '']) => [
    name,
    shapes.replace(/\s*\n\s*/g, '').replaceAll(' />', '/>'),
  ]),
);

export const ICON_NAMES: readonly string[] = [...DRAWINGS.keys()];

/** An icon beside a text. It says nothing to a screen reader: the text does. */
export function icon(name: string): Html {
  const shapes = DRAWINGS.get(name);
  if (shapes === undefined) throw new Error(`icons.svg has no icon "${name}"`);
  return trusted(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${shapes}</svg>`);
}
