// Which receivers fail, counted in this process. A failing receiver gets one attempt at a time and is probed.

import type { DeliveryResult } from './delivery-results.ts';

/** Failures in a row after which a receiver counts as failing. */
const FAILING_AFTER = 3;

interface ReceiverHealth {
  isFailing(origin: string): boolean;
  /** Another process found the receiver failing. */
  setFailing(origin: string): void;
  /** Counts one attempt. Returns how the health of the receiver changed. */
  record(origin: string, healthy: boolean): DeliveryResult['receiver'];
}

export function createReceiverHealth(): ReceiverHealth {
  /** Failures in a row, by receiver; a healthy receiver has no entry. */
  const failures = new Map<string, number>();
  const isFailing = (origin: string) => (failures.get(origin) ?? 0) >= FAILING_AFTER;
  return {
    isFailing,
    setFailing(origin) {
      if (!isFailing(origin)) failures.set(origin, FAILING_AFTER);
    },
    record(origin, healthy) {
      const wasFailing = isFailing(origin);
      if (healthy) {
        failures.delete(origin);
        return wasFailing ? 'recovered' : 'unchanged';
      }
      failures.set(origin, (failures.get(origin) ?? 0) + 1);
      return isFailing(origin) ? 'failing' : 'unchanged';
    },
  };
}
