// Our references on operators' wires. A reference (TX_ or RF_ and 26 letters and digits) is one-to-one with a UUID, so every
// form here leads back to it.

import { publicId, uuidFromPublicId } from '../platform/ids.ts';

type Prefix = 'TX' | 'RF';
/** Transactions have UUIDs of version 7, refunds of version 8. */
const VERSIONS: Record<Prefix, string> = { TX: '7', RF: '8' };
const VERSION_DIGIT = 14;
const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The UUID of a reference with the version digit 4, which is all that validators of version 4 look at. */
export function uuid4Of(reference: string): string {
  const uuid = uuidFromPublicId(prefixOf(reference), reference);
  if (uuid === null) throw new Error(`not a reference: "${reference}"`);
  return withVersion(uuid, '4');
}

/** The reference of such a UUID; null when it is not one. The operator says by other means whether it is a refund. */
export function referenceOfUuid4(uuid: string, prefix: Prefix): string | null {
  const lower = uuid.toLowerCase();
  return UUID4.test(lower) ? publicId(prefix, withVersion(lower, VERSIONS[prefix])) : null;
}

/** TX01J…: for operators that take letters and digits only. */
export const compactOf = (reference: string) => reference.replace('_', '');

/** Also of TX-01J… and of lower case; null when it is none of ours. */
export function referenceOfCompact(text: string): string | null {
  const match = /^(TX|RF)[-_]?([0-9A-Z]{26})$/.exec(text.toUpperCase());
  if (match === null) return null;
  const reference = `${match[1]}_${match[2]}`;
  return uuidFromPublicId(prefixOf(reference), reference) === null ? null : reference;
}

const prefixOf = (reference: string): Prefix => (reference.startsWith('RF') ? 'RF' : 'TX');
const withVersion = (uuid: string, version: string) =>
  `${uuid.slice(0, VERSION_DIGIT)}${version}${uuid.slice(VERSION_DIGIT + 1)}`;
