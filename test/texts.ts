// The texts of a catalogue of messages, with the values of its functions marked; and the texts of a page.

import { english } from '../src/console/messages/en.ts';
import { french } from '../src/console/messages/fr.ts';
import { portuguese } from '../src/console/messages/pt.ts';
import { swahili } from '../src/console/messages/sw.ts';

export const CONSOLE_TEXTS = { en: english, fr: french, pt: portuguese, sw: swahili } as const;

const FACT_NAMES = 'action amount by connection day email failed holder key name payouts role succeeded to url'.split(
  ' ',
);

/** Where a message takes an object: every member that one has. */
const FACTS: Readonly<Record<string, string | string[]>> = {
  ...Object.fromEntries(FACT_NAMES.map((name) => [name, `‹${name}›`])),
  kind: 'low_float',
  lines: ['‹lines›'],
  money: ['‹money›'],
};

/** A value that prints as `‹1›` and has the members of an object too: a wrapped function does not say which of them it takes. */
const MARKS = [1, 2, 3].map((number) => Object.assign(new String(`‹${number}›`), FACTS));

/** Every text with its path; a function is called with `‹1›`, `‹2›` … in place of its values. */
export function allTexts(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') return allTexts((value as (...given: unknown[]) => unknown)(...MARKS), path);
  return Object.entries(value as Record<string, unknown>).flatMap(([key, inner]) => allTexts(inner, `${path}.${key}`));
}

/** What people read or hear of a page: text, and the attributes that hold some. */
export function visibleText(page: string): string {
  return page
    .replace(/<(script|style|pre|code)\b[\s\S]*?<\/\1>/g, ' ')
    .replace(/<[^>]*?(?:aria-label|title|placeholder)="([^"]*)"[^>]*>|<[^>]+>/g, ' $1 ')
    .replace(/&#(\d+);/g, (_, number: string) => String.fromCodePoint(Number(number)));
}

/** Where a French page has a sign without the no-break space before it, with some words around. */
export function missingFrenchSpaces(page: string): string[] {
  return visibleText(page).match(/(?:\S+ )?\S*[\p{L}\d)’»] ?[:;!?»](?=\s)|« \S+/gu) ?? [];
}
