// Which passwords are refused: short ones, and those that a guessing program tries early (ASVS 2.1): common and leaked ones,
// keyboard rows, repetitions, dates, and the person's own address or the name of the service. No rule about kinds of characters.

import type { Context } from '../platform/context.ts';
import { perProcess } from '../platform/memory.ts';

export const MIN_PASSWORD_CHARACTERS = 10;
export const MAX_PASSWORD_CHARACTERS = 200;
/** The part that is compared. It bounds the work; nothing that is guessed early is longer. */
const COMPARED_CHARACTERS = 32;
/** How many spellings such as p4ssw0rd are undone. Together with the length it keeps the work within some tens of milliseconds. */
const MAX_SUBSTITUTIONS = 8;
/** Fewer guesses than this are a few seconds of a program that has the hash, and some weeks of one that signs in. */
const MIN_GUESSES = 1e8;

export type PasswordProblem = 'short' | 'long' | 'common';

/** The dictionaries take tenths of a second and some megabytes, so they are loaded when a password is first chosen. */
const strengthOf = perProcess(async () => {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, l33tMaxSubstitutions: MAX_SUBSTITUTIONS });
});

/** Why a password is not accepted; null when it is. */
export async function findPasswordProblem(
  ctx: Context,
  password: string,
  email: string,
): Promise<PasswordProblem | null> {
  if (Array.from(password).length < MIN_PASSWORD_CHARACTERS) return 'short';
  if (password.length > MAX_PASSWORD_CHARACTERS) return 'long';
  const compared = password.slice(0, COMPARED_CHARACTERS);
  if (new Set(compared.toLowerCase()).size < 4) return 'common';
  const known = namesOf(ctx, email);
  const rest = known.reduce((text, name) => text.replaceAll(name, ''), compared.toLowerCase());
  if (Array.from(rest.replace(/[\d\W_]+/g, '')).length < 3 && rest.length < compared.length) return 'common';
  const { guesses } = (await strengthOf(ctx)).check(compared, known);
  return guesses < MIN_GUESSES ? 'common' : null;
}

/** What anybody would try first for this person: parts of the address, and the name of the service. Long ones first. */
function namesOf({ config }: Context, email: string): string[] {
  const address = email.toLowerCase();
  const parts = [address, ...address.split('@'), ...address.split(/[^\p{L}\p{N}]+/u)];
  const names = [...parts, config.brandName.toLowerCase(), ...config.brandName.toLowerCase().split(/\s+/), 'simbi'];
  return [...new Set(names)].filter((name) => name.length >= 3).sort((one, other) => other.length - one.length);
}
