// Callback addresses as Safaricom takes them. It refuses some words anywhere in an address, in any case, and both our
// references and the tokens of our addresses are letters that could form one.

import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import type { CallbackAddresses } from './connection.ts';

export const FORBIDDEN_IN_ADDRESSES = ['mpesa', 'm-pesa', 'safaricom', 'exe', 'exec', 'cmd', 'sql', 'query'];
/** Each has another token. That so many tokens in a row contain a word does not happen. */
const MAX_VARIANTS = 20;
const IN_ADDRESS = /^(tx|rf)([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** What Safaricom sends to an address. The results of queries are told from those of payments by the address alone. */
export type DarajaTopic =
  | 'prompt'
  | 'payout'
  | 'reversal'
  | 'payout-status'
  | 'reversal-status'
  | 'payment-status'
  | 'balance'
  /** A payout or a reversal waited too long in a queue of the operator. */
  | 'timeout'
  /** A question did. */
  | 'late'
  | 'confirmation'
  | 'validation';

const TOPICS: ReadonlySet<string> = new Set<DarajaTopic>([
  'prompt',
  'payout',
  'reversal',
  'payout-status',
  'reversal-status',
  'payment-status',
  'balance',
  'timeout',
  'late',
  'confirmation',
  'validation',
]);

export type DarajaAddress = { topic: DarajaTopic; reference: string | null };

export interface DarajaAddresses {
  url(topic: DarajaTopic, reference: string | null): string;
  read(path: string): DarajaAddress | null;
}

export function createDarajaAddresses(addresses: CallbackAddresses): DarajaAddresses {
  return {
    url(topic, reference) {
      const name = reference === null ? null : encode(reference);
      let url = addresses.url(topic, name);
      for (let variant = 1; variant < MAX_VARIANTS && forbiddenWordIn(pathOf(url)) !== null; variant++)
        url = addresses.url(`${topic}-${variant}`, name);
      return url;
    },
    read(path) {
      const read = addresses.read(path);
      const topic = read?.topic.replace(/-\d+$/, '') ?? '';
      if (read === null || !isTopic(topic)) return null;
      if (read.reference === null) return { topic, reference: null };
      const reference = decode(read.reference);
      return reference === null ? null : { topic, reference };
    },
  };
}

/** The first forbidden word of a text; null: none. */
export function forbiddenWordIn(text: string): string | null {
  const lower = text.toLowerCase();
  return FORBIDDEN_IN_ADDRESSES.find((word) => lower.includes(word)) ?? null;
}

const pathOf = (url: string) => new URL(url).pathname;
const isTopic = (topic: string): topic is DarajaTopic => TOPICS.has(topic);

/** Hexadecimal digits form none of the words. */
function encode(reference: string): string {
  const prefix = reference.startsWith('RF') ? 'RF' : 'TX';
  const uuid = uuidFromPublicId(prefix, reference);
  if (uuid === null) throw new Error(`not a reference: "${reference}"`);
  return `${prefix.toLowerCase()}${uuid.replaceAll('-', '')}`;
}

function decode(text: string): string | null {
  const match = IN_ADDRESS.exec(text);
  return match === null ? null : publicId(match[1] === 'rf' ? 'RF' : 'TX', match.slice(2).join('-'));
}
