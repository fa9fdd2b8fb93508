// The test phones of a simulated operator that runs in another process, over its HTTP interface.

import { amountFrom, formatAmount } from '../platform/money.ts';
import { Pool } from '../platform/pool.ts';
import type { printView } from './http.ts';
import type { PhoneResult, PhoneView, TestPhone } from './test-phone.ts';

/** Longer than a phone waits for its next change. */
const TIMEOUT_MS = 30_000;

type Printed<T> = T extends Date ? string : T extends object ? { [K in keyof T]: Printed<T[K]> } : T;
type PrintedView = Printed<ReturnType<typeof printView>>;

export type RemotePhone = TestPhone & { close(): Promise<void> };

export function createRemotePhone(operatorUrl: string): RemotePhone {
  const pool = new Pool(operatorUrl, { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });

  async function read(path: string, signal?: AbortSignal): Promise<PhoneView> {
    const { body } = await pool.request({ method: 'GET', path, ...(signal ? { signal } : {}) });
    return readView((await body.json()) as PrintedView);
  }

  async function act<R extends PhoneResult>(msisdn: string, action: string, given: object = {}): Promise<R> {
    const headers = { 'content-type': 'application/json' };
    const path = `/phones/${msisdn}/${action}`;
    const { body } = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(given) });
    return (await body.json()) as R;
  }

  const onPrompt = (action: string) => (msisdn: string, id: string) =>
    act<PhoneResult>(msisdn, `${action}/${encodeURIComponent(id)}`);

  return {
    view: (msisdn) => read(`/phones/${msisdn}`),
    waitForChange: (msisdn, version, waitMs, signal) =>
      read(`/phones/${msisdn}/news?version=${version}&wait_ms=${waitMs}`, signal).catch((error: unknown) => {
        // Nobody waits any more, or the gateway stops: the phone as it is.
        if (signal?.aborted) return read(`/phones/${msisdn}`);
        throw error;
      }),
    answer: (msisdn, id, pin) => act(msisdn, `answer/${encodeURIComponent(id)}`, { pin }),
    cancel: onPrompt('cancel'),
    ignore: onPrompt('ignore'),
    expire: onPrompt('expire'),
    switchTo: (msisdn, isOn) => act(msisdn, 'switch', { on: isOn }),
    dial: (msisdn, code) => act(msisdn, 'dial', { code }),
    pay: (msisdn, { to, accountReference, amount, currency }) =>
      act(msisdn, 'pay', { to, account_reference: accountReference, amount: formatAmount(amount), currency }),
    close: () => pool.destroy(),
  };
}

function readView(view: PrintedView): PhoneView {
  return {
    msisdn: view.msisdn,
    isOn: view.is_on,
    version: view.version,
    messages: view.messages.map((message) => ({ ...message, at: new Date(message.at) })),
    prompts: view.prompts.map((prompt) => ({
      id: prompt.id,
      method: prompt.method,
      operator: prompt.operator,
      merchantName: prompt.label,
      amount: amountFrom(prompt.amount),
      currency: prompt.currency,
      text: prompt.text,
      state: prompt.state,
      dialCode: prompt.dial_code,
      payTo: prompt.pay_to,
      accountReference: prompt.account_reference,
      expiresAt: prompt.expires_at === null ? null : new Date(prompt.expires_at),
      at: new Date(prompt.at),
    })),
  };
}
