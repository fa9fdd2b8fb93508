// Callbacks of pawaPay: flat bodies, signed, repeated while the receiver does not answer 200.

import type { SimulatorContext } from './frame.ts';
import type { PawapayKind } from './pawapay-providers.ts';
import { createPawapayKey, type PawapayKey, signCallback } from './pawapay-signature.ts';

/** What can be wrong with the next callbacks, beside the faults of the frame. */
export const PAWAPAY_CALLBACK_FAULTS = [
  'wrong_digest',
  'expired_signature',
  'stripped_signature',
  'processing_after_final',
] as const;

export type PawapayCallbackFault = (typeof PAWAPAY_CALLBACK_FAULTS)[number];

export interface PawapayCallbacks {
  /** One address for each kind, as the dashboard has them; empty where none is set. */
  addresses: Record<PawapayKind, string>;
  /** Every key that the public-key route shows; the last one signs. */
  keys: readonly PawapayKey[];
  rotateKey(): PawapayKey;
  plan(fault: PawapayCallbackFault): void;
  deliver(kind: PawapayKind, body: object): void;
  deliverTo(url: string, body: object): void;
}

export function createPawapayCallbacks(
  context: SimulatorContext,
  settings: Readonly<Record<string, string>>,
): PawapayCallbacks {
  const keys = [createPawapayKey(1)];
  const planned: PawapayCallbackFault[] = [];
  const retryMs = Number(settings.callbackRetrySeconds) * 1000;
  const repeats = Math.floor(Number(settings.callbackRetryMinutes) * 60_000) / Math.max(retryMs, 1);
  const addressOf = (kind: PawapayKind) => settings[`${kind}CallbackUrl`] || settings.callbackUrl || '';
  const addresses = { deposit: addressOf('deposit'), payout: addressOf('payout'), refund: addressOf('refund') };

  function takePlanned(...faults: PawapayCallbackFault[]): PawapayCallbackFault | undefined {
    const index = planned.findIndex((fault) => faults.includes(fault));
    return index === -1 ? undefined : planned.splice(index, 1)[0];
  }

  function signerOf(url: string): ((text: string) => Record<string, string>) | null {
    if (settings.signedCallbacks !== 'true') return null;
    const key = keys.at(-1);
    const fault = takePlanned('wrong_digest', 'expired_signature', 'stripped_signature');
    if (key === undefined || fault === 'stripped_signature') return null;
    const options = {
      key,
      encoding: settings.signatureEncoding === 'raw' ? ('raw' as const) : ('der' as const),
      digest: settings.digest === 'sha-256' ? ('sha-256' as const) : ('sha-512' as const),
    };
    return (text) =>
      signCallback(url, fault === 'wrong_digest' ? `${text} ` : text, {
        ...options,
        now: context.now() - (fault === 'expired_signature' ? 600_000 : 0),
      });
  }

  function deliverTo(url: string, body: object, sent = 0): void {
    if (url === '') return;
    const sign = signerOf(url);
    void context.send({
      url,
      body,
      ...(sign ? { sign } : {}),
      answered: (answer) => {
        if (answer?.status === 200 || sent >= repeats) return;
        context.after(retryMs, () => deliverTo(url, body, sent + 1));
      },
    });
  }

  return {
    addresses,
    keys,
    rotateKey() {
      const key = createPawapayKey(keys.length + 1);
      keys.push(key);
      return key;
    },
    plan: (fault) => void planned.push(fault),
    deliver(kind, body) {
      deliverTo(addresses[kind], body);
      if (takePlanned('processing_after_final'))
        deliverTo(addresses[kind], { ...body, status: 'PROCESSING', failureReason: null });
    },
    deliverTo,
  };
}
