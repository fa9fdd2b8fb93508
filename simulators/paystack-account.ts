// The merchant's account at Paystack: its key, its balance, its webhooks, and the ids that it gives.

import { createHmac } from 'node:crypto';
import type { Movement } from './book.ts';
import type { SimulatorContext } from './frame.ts';
import {
  createPaystackIds,
  type PaystackIds,
  type PaystackSettings,
  paystackTime,
  writeSubunits,
} from './paystack-wire.ts';

const WEBHOOK_TIMEOUT_MS = 30_000;
export const PAYSTACK_INTEGRATION = 463433;
export const PAYSTACK_CURRENCIES = ['NGN', 'GHS', 'KES', 'XOF'];

export interface PaystackAccount {
  readonly context: SimulatorContext;
  readonly settings: PaystackSettings;
  readonly ids: PaystackIds;
  secretKey: string;
  webhookUrl: string;
  /** The next webhooks have a signature that does not fit. */
  wrongSignatures: number;
  domain: () => 'test' | 'live';
  /** What may still be paid out. */
  available(currency: string): bigint;
  reserve(currency: string, amount: bigint): void;
  topUp(currency: string, amount: bigint): void;
  /** Money moves: the book, and a row of the balance ledger. */
  enter(movement: Movement, row: { model: 'Transaction' | 'Transfer' | 'Refund'; id: number; reason: string }): void;
  ledger(): readonly object[];
  /** Sends an event, again and again until it is answered with 200. */
  notify(event: string, data: object): void;
}

export function createPaystackAccount(context: SimulatorContext, settings: PaystackSettings): PaystackAccount {
  const reserved = new Map<string, bigint>();
  const toppedUp = new Map<string, bigint>();
  const rows: object[] = [];
  const ids = createPaystackIds(() => context.now());
  const add = (sums: Map<string, bigint>, currency: string, amount: bigint) =>
    void sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  const balance = (currency: string) => context.book.balance(currency) + (toppedUp.get(currency) ?? 0n);

  const account: PaystackAccount = {
    context,
    settings,
    ids,
    secretKey: settings.secretKey ?? '',
    webhookUrl: settings.webhookUrl ?? '',
    wrongSignatures: 0,
    domain: () => (account.secretKey.startsWith('sk_live_') ? 'live' : 'test'),
    available: (currency) => balance(currency) - (reserved.get(currency) ?? 0n),
    reserve: (currency, amount) => add(reserved, currency, amount),
    topUp: (currency, amount) => add(toppedUp, currency, amount),
    enter(movement, { model, id, reason }) {
      const before = context.book.net(movement.currency);
      context.book.enter(movement);
      const { currency } = movement;
      rows.unshift({
        integration: PAYSTACK_INTEGRATION,
        domain: account.domain(),
        balance: writeSubunits(balance(currency), currency, settings),
        currency,
        difference: writeSubunits(context.book.net(currency) - before, currency, settings),
        reason,
        model_responsible: model,
        model_row: id,
        id: ids.number(),
        createdAt: paystackTime(context.now()),
        updatedAt: paystackTime(context.now()),
      });
    },
    ledger: () => rows,
    notify: (event, data) => deliver({ event, data }, retryDelays(account.domain(), settings)),
  };

  function deliver(body: object, delays: number[]): void {
    if (account.webhookUrl === '') return;
    const isWrong = account.wrongSignatures > 0;
    if (isWrong) account.wrongSignatures--;
    const key = isWrong ? `${account.secretKey}0` : account.secretKey;
    void context.send({
      url: account.webhookUrl,
      body,
      sign: (text) => ({ 'x-paystack-signature': createHmac('sha512', key).update(text).digest('hex') }),
      timeoutMs: WEBHOOK_TIMEOUT_MS,
      answered: (answer) => {
        const [delay, ...later] = delays;
        if (answer?.status !== 200 && delay !== undefined) context.after(delay, () => deliver(body, later));
      },
    });
  }
  return account;
}

/** Live: four tries three minutes apart, then every hour for 72 hours. Test: every hour for ten hours. */
function retryDelays(domain: 'test' | 'live', settings: PaystackSettings): number[] {
  const soon = Number(settings.webhookRetrySeconds) * 1000;
  const hourly = Number(settings.webhookRetryHourSeconds) * 1000;
  if (domain === 'test') return Array.from({ length: 10 }, () => hourly);
  return [soon, soon, soon, ...Array.from({ length: 72 }, () => hourly)];
}
