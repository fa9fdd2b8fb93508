// The blocks and heads of an invented history, as src/ledger/chain.ts would have sealed it.

import { hashOf, headHash, PARTITIONS } from '../src/ledger/chain.ts';

const BLOCK_TRANSFERS = 1_000;

type SealedBlock = { readonly number: bigint; readonly hash: Buffer };

/** Where the chain stands before the first row: the newest block of each partition, and the newest head. */
export type ChainEnd = {
  readonly blocks: readonly SealedBlock[];
  readonly head: SealedBlock;
  readonly genesis: Buffer;
};

type PastTransfer = { holderId: string; position: number; id: number; line: string };

export type SealedRows = {
  readonly block: {
    partition: number;
    number: bigint;
    lastId: number;
    transfers: number;
    holders: string;
    after: string;
    positions: string;
    previous: Buffer;
    hash: Buffer;
  };
  readonly head: { number: bigint; blocks: string; lastId: number; previous: Buffer; hash: Buffer };
};

/** Collects transfers and seals a partition when it has a full block; after each block there is a head. */
export function createPastChain({ blocks: start, head: first, genesis }: ChainEnd) {
  const blocks = [...start];
  let head = first;
  let lastId = 0;
  const waiting = Array.from({ length: PARTITIONS }, (): PastTransfer[] => []);

  function seal(partition: number): SealedRows {
    const transfers = (waiting[partition] ?? []).toSorted(
      (left, right) => Number(left.holderId) - Number(right.holderId) || left.position - right.position,
    );
    waiting[partition] = [];
    const byHolder = [...Map.groupBy(transfers, ({ holderId }) => holderId)];
    const previous = blocks[partition] ?? { number: 0n, hash: genesis };
    const hash = hashOf(
      previous.hash,
      transfers.map(({ line }) => line),
    );
    const block = { number: previous.number + 1n, hash };
    blocks[partition] = block;
    lastId = transfers.reduce((greatest, { id }) => Math.max(greatest, id), lastId);
    const before = head;
    const joined = blocks.map((each) => (each.number === 0n ? genesis : each.hash));
    head = { number: before.number + 1n, hash: headHash(before.hash, joined) };
    return {
      block: {
        partition,
        number: block.number,
        lastId: Math.max(...transfers.map(({ id }) => id)),
        transfers: transfers.length,
        holders: arrayOf(byHolder.map(([holderId]) => holderId)),
        after: arrayOf(byHolder.map(([, [each]]) => (each?.position ?? 1) - 1)),
        positions: arrayOf(byHolder.map(([, each]) => each.at(-1)?.position ?? 0)),
        previous: previous.hash,
        hash,
      },
      head: {
        number: head.number,
        blocks: arrayOf(blocks.map(({ number }) => number)),
        lastId,
        previous: before.hash,
        hash: head.hash,
      },
    };
  }

  return {
    add(transfer: PastTransfer): SealedRows | null {
      const partition = Number(BigInt(transfer.holderId) % BigInt(PARTITIONS));
      waiting[partition]?.push(transfer);
      return waiting[partition]?.length === BLOCK_TRANSFERS ? seal(partition) : null;
    },
    /** Seals what is left. */
    finish(): SealedRows[] {
      return waiting.flatMap(({ length }, partition) => (length > 0 ? [seal(partition)] : []));
    },
  };
}

const arrayOf = (values: readonly (string | number | bigint)[]) => `{${values.join(',')}}`;
