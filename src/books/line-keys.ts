// What makes two lines of an operator the same line, so that a line counts once in whichever files it comes: the same file
// twice, a half and the whole, yesterday's and this month's, CSV and spreadsheet.

import { createHash } from 'node:crypto';
import type { OperatorLine } from './statement-lines.ts';

const KEY_BYTES = 16;

export type LineFacts = Omit<OperatorLine, 'connection' | 'lineKey' | 'fileId' | 'lineNumber' | 'readAt' | 'raw'>;

/**
 * The identity of a line without its place among equal ones. With a receipt, other exports of the same statement (fewer columns,
 * a masked number, no balance) make the same line of it. Without one, everything that the file says is compared.
 */
export function identityOf(line: LineFacts): Buffer {
  const common = [line.occurredAt.toISOString(), line.kind, line.direction, line.state, line.gross, line.currency];
  const rest = line.receipt
    ? [line.receipt]
    : [null, line.reference, line.msisdn, line.fee, line.balance, line.description.replaceAll(/\s+/g, ' ').trim()];
  const text = JSON.stringify([...common, ...rest], (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return createHash('sha256').update(text).digest().subarray(0, KEY_BYTES);
}

/** `before`: how many lines of the same identity came before this one in its file. */
export function lineKeyOf(identity: Buffer, before: number): Buffer {
  if (before === 0) return identity;
  return createHash('sha256').update(identity).update(`repeat ${before}`).digest().subarray(0, KEY_BYTES);
}

const FIRST_SLOTS = 1 << 16;

/**
 * Counts identities in 12 bytes each, outside the heap: a map of a million texts would take a hundred times as much. Eight bytes of
 * the identity are compared, so that two of a million different lines are taken for equal once in thirty million files; the later
 * one then has the key of a repeat, and is still kept.
 */
export class RepeatCounter {
  #identities = new BigUint64Array(FIRST_SLOTS);
  #counts = new Uint32Array(FIRST_SLOTS);
  #used = 0;

  /** How many times the identity was counted before. */
  count(identity: Buffer): number {
    if (this.#used * 2 > this.#counts.length) this.#grow();
    const slot = this.#slotOf(identity.readBigUInt64LE(0));
    const before = this.#counts[slot] ?? 0;
    if (before === 0) this.#used++;
    this.#identities[slot] = identity.readBigUInt64LE(0);
    this.#counts[slot] = before + 1;
    return before;
  }

  #slotOf(identity: bigint): number {
    const last = this.#counts.length - 1;
    let slot = Number(identity & BigInt(last));
    while (this.#counts[slot] !== 0 && this.#identities[slot] !== identity) slot = (slot + 1) & last;
    return slot;
  }

  #grow(): void {
    const [identities, counts] = [this.#identities, this.#counts];
    this.#identities = new BigUint64Array(counts.length * 2);
    this.#counts = new Uint32Array(counts.length * 2);
    for (const [index, count] of counts.entries()) {
      if (count === 0) continue;
      const identity = identities[index] ?? 0n;
      const slot = this.#slotOf(identity);
      this.#identities[slot] = identity;
      this.#counts[slot] = count;
    }
  }
}
