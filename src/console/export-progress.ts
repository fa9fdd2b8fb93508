// How far downloads have come, in the memory of this process, so that the page they were started from can show it.

import { randomSecret } from '../platform/ids.ts';

const MAX_EXPORTS = 200;

export type ExportState = { rows: number; done: boolean };

export interface ExportProgress {
  start(holderId: bigint, exportId: string): ExportState;
  find(holderId: bigint, exportId: string): ExportState | null;
}

export function createExportProgress(): ExportProgress {
  const states = new Map<string, ExportState>();
  const keyOf = (holderId: bigint, exportId: string) => `${holderId} ${exportId}`;
  return {
    start(holderId, exportId) {
      const state = { rows: 0, done: false };
      states.set(keyOf(holderId, exportId), state);
      if (states.size > MAX_EXPORTS) states.delete(states.keys().next().value ?? '');
      return state;
    },
    find: (holderId, exportId) => states.get(keyOf(holderId, exportId)) ?? null,
  };
}

export function newExportId(): string {
  return randomSecret(9);
}
