// pawaPay's public keys. Callbacks are read without network calls, so keys are fetched beforehand and in the background.

import type { Clock } from '../platform/clock.ts';
import type { Exchange } from './exchange.ts';
import { type PublicKeys, readPublicKey, type SignatureResult } from './pawapay-signatures.ts';
import { objectsOf, readJson, textOf } from './reading.ts';

const OLD_AFTER_MS = 12 * 3_600_000;
/** A forged key id must not make us ask more often. */
const MIN_BETWEEN_MS = 60_000;
/** A list that is longer is not pawaPay's. */
const MAX_KEYS = 20;
/** A key with its line breaks is longer than other texts of an operator. */
const MAX_KEY_LENGTH = 4_096;

export interface Keyring {
  keys(): PublicKeys;
  /** Starts to fetch the keys; at most once a minute. */
  refresh(): void;
  /** Fetches the keys and says what went wrong, or null. */
  load(): Promise<string | null>;
  /** Runs a check, and has the keys fetched if they are old or one is missing. */
  check(run: () => SignatureResult): SignatureResult;
}

export function createKeyring(clock: Clock, fetch: () => Promise<Exchange>): Keyring {
  let keys: PublicKeys = new Map();
  let loadedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;

  async function load(): Promise<string | null> {
    triedAt = clock.millis();
    const answer = await fetch();
    if (!answer.answered) return answer.reason;
    const read = readKeys(answer.body);
    if (answer.status !== 200 || read.size === 0) return `pawaPay answered ${answer.status} without a key`;
    keys = read;
    loadedAt = clock.millis();
    return null;
  }

  function refresh() {
    if (clock.millis() - triedAt >= MIN_BETWEEN_MS) void load();
  }

  return {
    keys: () => keys,
    refresh,
    load,
    check(run) {
      const result = run();
      if (result !== 'unsigned' && (result === 'unknown_key' || clock.millis() - loadedAt > OLD_AFTER_MS)) refresh();
      return result;
    },
  };
}

function readKeys(text: string): PublicKeys {
  const read = objectsOf(readJson(text))
    .slice(0, MAX_KEYS)
    .flatMap((row) => {
      const id = textOf(row.id);
      const pem = typeof row.key === 'string' && row.key.length <= MAX_KEY_LENGTH ? row.key : '';
      const key = readPublicKey(pem);
      return id === null || key === null ? [] : [[id, key] as const];
    });
  return new Map(read);
}
