// What the walks along the hash chain share: the place, the checks of one block, and reading in groups.

import type { Reader } from '../platform/db.ts';
import { type Head, hashOf, type KnownHead, PARTITIONS, pastEnd } from './chain.ts';
import type { ReportDifference } from './differences.ts';

/** Blocks and heads read at a time. */
export const BLOCKS_READ = 1_000;
/** Transfers read at a time, at least one block. */
export const PIECE = 5_000;
export const MAX_ID = 2n ** 63n - 1n;

/** How far a walk is: the last past block, the last block of each partition, and the last head. */
export type ChainPlace = { readonly past: bigint; readonly blocks: readonly bigint[]; readonly head: bigint };

const NO_BLOCKS: readonly bigint[] = Array.from({ length: PARTITIONS }, () => 0n);
export const BEGINNING: ChainPlace = { past: 0n, blocks: NO_BLOCKS, head: 0n };

/** The place after everything that this head, or block of the past chain, covers. */
export async function placeAfter(reader: Reader, head: Head): Promise<ChainPlace> {
  if (head.blocks.length === 0) return { past: head.number, blocks: NO_BLOCKS, head: head.number };
  return { past: (await pastEnd(reader)).number, blocks: head.blocks, head: head.number };
}

export type ChainStep = { readonly lines: readonly string[] } | { readonly place: ChainPlace };
export type ChainCounts = { blocks: number; heads: number; unsealed: number; head: KnownHead | null };

export type Walk = {
  readonly reader: Reader;
  readonly report: ReportDifference;
  readonly counts: ChainCounts;
  /** Whether nothing is trusted: a holder that was not seen yet stands at 0. */
  readonly whole: boolean;
  /** Up to which position each holder was seen. */
  readonly seen: Map<bigint, bigint>;
  place: ChainPlace;
};

export type Named = { readonly name: string; readonly where: string };

/** Notes where the walk is now. */
export function at(walk: Walk, place: Partial<ChainPlace>): ChainStep {
  walk.place = { ...walk.place, ...place };
  return { place: walk.place };
}

/** Blocks in groups of few transfers, so that a long time with little traffic is not read block by block. */
export async function* readGroups<Block extends { number: bigint; transfers: number }>(
  read: (after: bigint) => Promise<Block[]>,
  start: bigint,
): AsyncGenerator<Block[]> {
  for (let after = start; ; ) {
    const blocks = await read(after);
    let group: Block[] = [];
    let transfers = 0;
    for (const block of blocks) {
      if (group.length > 0 && transfers + block.transfers > PIECE) {
        yield group;
        [group, transfers] = [[], 0];
      }
      group.push(block);
      transfers += block.transfers;
    }
    if (group.length > 0) yield group;
    after = blocks.at(-1)?.number ?? after;
    if (blocks.length < BLOCKS_READ) return;
  }
}

export function checkLink(
  block: { number: bigint; previous_hash: Buffer },
  previous: { readonly number: bigint; readonly hash: Buffer },
  { name, where }: Named,
  report: ReportDifference,
): void {
  const number = previous.number + 1n;
  if (block.number !== number) {
    const sentence = `${name} follows block ${previous.number}: blocks between were removed.`;
    report({ what: 'block', where, expected: `block ${number}`, found: `block ${block.number}`, sentence });
  }
  if (!block.previous_hash.equals(previous.hash)) {
    const sentence = `${name} names another hash as that of the block before: that block was edited.`;
    const [expected, found] = [previous.hash.toString('hex'), block.previous_hash.toString('hex')];
    report({ what: 'block', where, expected, found, sentence });
  }
}

/** A block holds the transfers it was sealed over. Its own hash before it is trusted: a difference there is reported once. */
export function checkContent(
  block: { transfers: number; previous_hash: Buffer; hash: Buffer },
  name: string,
  where: string,
  lines: readonly string[],
  report: ReportDifference,
): void {
  if (lines.length !== block.transfers) {
    const sentence = `${name} was sealed over ${block.transfers} transfers; ${lines.length} are there.`;
    const [expected, found] = [`${block.transfers} transfers`, `${lines.length} transfers`];
    report({ what: 'block', where, expected, found, sentence });
    return;
  }
  const found = hashOf(block.previous_hash, lines);
  if (found.equals(block.hash)) return;
  const sentence = `${name} does not have the hash it was sealed with: a transfer in it was edited.`;
  report({ what: 'block', where, expected: block.hash.toString('hex'), found: found.toString('hex'), sentence });
}
