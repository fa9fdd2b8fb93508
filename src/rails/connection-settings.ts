// Checks the settings of a connection against the schema of its rail. The command and the console page use the same function,
// so both name every error at once, in the same sentences.

import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { isAddressOrRange } from '../platform/addresses.ts';
import type { OperatorEnvironment, RailDefinition, RailSetting } from './connection.ts';

const MAX_VALUE_CHARACTERS = 16_384;
const MAX_LIST_ITEMS = 200;
/** A name further away than this is not what somebody meant to type. */
const MAX_TYPING_ERRORS = 3;

export type SettingErrors = Record<string, string[]>;
export type SettingsReading = { values: Record<string, string>; errors: SettingErrors };

/** Whether a value is stored sealed and never shown again. */
export function isSealed(setting: Pick<RailSetting, 'kind' | 'sealed'>): boolean {
  return setting.kind === 'secret' || setting.sealed === true;
}

/** The values that a new connection starts with. */
export function initialValues(definition: RailDefinition, environment: OperatorEnvironment): Record<string, string> {
  const values: Record<string, string> = {};
  for (const { name, initial, simulator } of definition.settings) {
    const value = environment === 'simulator' ? (simulator ?? initial) : initial;
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/**
 * `known` with the given values over it. An empty value clears an optional setting. Names that the rail does not have, values
 * of the wrong form and missing values are all reported.
 */
export function readSettings(
  definition: RailDefinition,
  known: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
): SettingsReading {
  const errors: SettingErrors = {};
  const values: Record<string, string> = {};
  const names = definition.settings.map(({ name }) => name);
  for (const name of Object.keys(given))
    if (!names.includes(name))
      errors[name] = [unknownName(`${definition.title} has no setting "${name}"`, name, names)];
  for (const setting of definition.settings) {
    const value = tidy(setting, given[setting.name] ?? known[setting.name] ?? '');
    if (value === '') {
      if (!setting.optional) errors[setting.name] = [`${setting.label} is missing. ${setting.help}`];
      continue;
    }
    const sentence = errorOf(setting, value);
    if (sentence === null) values[setting.name] = value;
    else errors[setting.name] = [`${setting.label} ${sentence}.`];
  }
  return { values, errors };
}

/** A sentence about a name that does not exist, with the nearest one that does. */
export function unknownName(sentence: string, name: string, names: readonly string[]): string {
  const [nearest] = names
    .map((candidate) => ({ candidate, distance: distanceBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance);
  if (nearest && nearest.distance <= MAX_TYPING_ERRORS) return `${sentence}. Did you mean "${nearest.candidate}"?`;
  return names.length === 0 ? `${sentence}.` : `${sentence}. It has: ${names.join(', ')}.`;
}

/** Pasted values come with spaces and line ends around them, and with the line ends of another system inside. */
function tidy({ kind }: RailSetting, value: string): string {
  const trimmed = value.trim();
  if (kind === 'pem') return trimmed.replaceAll('\r\n', '\n');
  return kind === 'list' || kind === 'address_ranges' ? itemsOf(trimmed).join(',') : trimmed;
}

const itemsOf = (value: string) =>
  value
    .split(/[\s,]+/)
    .map((item) => item.trim())
    .filter(Boolean);

/** What is wrong with a value, as the end of a sentence; null when nothing is. The value itself is never part of it. */
function errorOf(setting: RailSetting, value: string): string | null {
  if (value.length > MAX_VALUE_CHARACTERS) return `is longer than ${MAX_VALUE_CHARACTERS} characters`;
  if (setting.kind !== 'pem' && /[\u0000-\u001f\u007f]/.test(value))
    return 'has a line break or control character in it';
  const sentence = errorOfKind(setting, value);
  if (sentence !== null) return sentence;
  if (setting.pattern && !setting.pattern.test(value)) return setting.patternHelp ?? 'does not have the right form';
  return null;
}

function errorOfKind(setting: RailSetting, value: string): string | null {
  switch (setting.kind) {
    case 'choice':
      return setting.choices?.includes(value) ? null : `must be one of ${(setting.choices ?? []).join(', ')}`;
    case 'yes_no':
      return value === 'yes' || value === 'no' ? null : 'must be yes or no';
    case 'address_ranges': {
      const wrong = itemsOf(value).find((item) => !isAddressOrRange(item));
      return wrong === undefined ? tooMany(value) : `must be IP addresses or ranges; "${wrong}" is neither`;
    }
    case 'list':
      return tooMany(value);
    case 'pem':
      return errorOfPem(value, isSealed(setting));
    default:
      return null;
  }
}

const tooMany = (value: string) =>
  itemsOf(value).length > MAX_LIST_ITEMS ? `has more than ${MAX_LIST_ITEMS} entries` : null;

/** Sealed: a private key. Otherwise a public key or a certificate: a private key would be shown to everybody there. */
function errorOfPem(value: string, sealed: boolean): string | null {
  if (!sealed && isBarePublicKey(value)) return null;
  if (!value.startsWith('-----BEGIN ')) return 'must be PEM text that begins with -----BEGIN; paste the whole file';
  const isPrivate = canRead(() => createPrivateKey(value));
  if (sealed) return isPrivate ? null : 'is not a private key without a passphrase in PEM form';
  if (isPrivate) return 'is a private key; the public key or the certificate belongs here';
  if (value.includes('CERTIFICATE-----'))
    return canRead(() => new X509Certificate(value)) ? null : 'is not a readable certificate';
  return canRead(() => createPublicKey(value)) ? null : 'is not a public key or certificate in PEM form';
}

/** Some portals show a public key without the lines of PEM around it. */
function isBarePublicKey(value: string): boolean {
  const der = /^[A-Za-z0-9+/=\s]+$/.test(value) ? Buffer.from(value, 'base64') : null;
  return der !== null && canRead(() => createPublicKey({ key: der, format: 'der', type: 'spki' }));
}

function canRead(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

/** How many letters must be added, left out or replaced. */
function distanceBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(left).entries()) {
    const next = [index + 1];
    for (const [column, other] of Array.from(right).entries())
      next.push(
        Math.min((row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1, (row[column] ?? 0) + (letter === other ? 0 : 1)),
      );
    row = next;
  }
  return row[right.length] ?? 0;
}
