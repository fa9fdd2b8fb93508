// Which receivers (a holder at an origin) fail, counted in this process. A failing receiver gets one attempt at a time and is probed.

import type { DeliveryResult } from './delivery-results.ts';
import { type ReceiverName, receiverKey } from './queue.ts';

/** Failures in a row after which a receiver counts as failing. */
const FAILING_AFTER = 3;
/** The one that failed first is forgotten when there are more: a merchant may name another address with each payment. */
const MAX_REMEMBERED = 20_000;

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
  const remember = (key: string, count: number) => {
    failures.set(key, count);
    if (failures.size > MAX_REMEMBERED) failures.delete(failures.keys().next().value ?? key);
  };
  return {
    isFailing,
    setFailing(receiver) {
      if (!isFailing(receiver)) remember(receiverKey(receiver), FAILING_AFTER);
    },
    record(receiver, healthy) {
      const key = receiverKey(receiver);
      const wasFailing = isFailing(receiver);
      if (healthy) {
        failures.delete(key);
        return wasFailing ? 'recovered' : 'unchanged';
      }
      remember(key, (failures.get(key) ?? 0) + 1);
      return isFailing(receiver) ? 'failing' : 'unchanged';
    },
  };
}
