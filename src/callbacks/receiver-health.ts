// Which receivers (a holder at an origin) fail, counted in this process. A failing receiver gets one attempt at a time and is probed.

import type { DeliveryResult } from './delivery-results.ts';
import { type ReceiverName, receiverKey } from './queue.ts';

/** Failures in a row after which a receiver counts as failing. */
const FAILING_AFTER = 3;

interface ReceiverHealth {
  isFailing(receiver: ReceiverName): boolean;
  /** Another process found the receiver failing. */
  setFailing(receiver: ReceiverName): void;
  /** Counts one attempt. Returns how the health of the receiver changed. */
  record(receiver: ReceiverName, healthy: boolean): DeliveryResult['receiver'];
}

export function createReceiverHealth(): ReceiverHealth {
  /** Failures in a row, by receiver; a healthy receiver has no entry. */
  const failures = new Map<string, number>();
  const isFailing = (receiver: ReceiverName) => (failures.get(receiverKey(receiver)) ?? 0) >= FAILING_AFTER;
  return {
    isFailing,
    setFailing(receiver) {
      if (!isFailing(receiver)) failures.set(receiverKey(receiver), FAILING_AFTER);
    },
    record(receiver, healthy) {
      const key = receiverKey(receiver);
      const wasFailing = isFailing(receiver);
      if (healthy) {
        failures.delete(key);
        return wasFailing ? 'recovered' : 'unchanged';
      }
      failures.set(key, (failures.get(key) ?? 0) + 1);
      return isFailing(receiver) ? 'failing' : 'unchanged';
    },
  };
}
