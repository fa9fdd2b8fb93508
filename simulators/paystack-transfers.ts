// Transfers of Paystack: a recipient first, then the money; perhaps a code or the merchant's approval in between.

import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { PAYSTACK_CURRENCIES, PAYSTACK_INTEGRATION, type PaystackAccount } from './paystack-account.ts';
import {
  createPaystackRecipients,
  type PaystackRecipient,
  type PaystackRecipients,
  recipientData,
} from './paystack-recipients.ts';
import {
  accepted,
  checkPaystackFields,
  type PaystackJson,
  paystackText,
  paystackTime,
  readPhone,
  readSubunits,
  refused,
  writeSubunits,
} from './paystack-wire.ts';
import { type Decision, decisionOf } from './phones.ts';

export type PaystackTransfer = {
  id: number;
  code: string;
  reference: string;
  recipient: PaystackRecipient;
  amount: bigint;
  currency: string;
  reason: string;
  status: 'otp' | 'received' | 'pending' | 'queued' | PaystackTransferEnd;
  gatewayResponse: string | null;
  createdAt: number;
  updatedAt: number;
  transferredAt: number | null;
};

type PaystackTransferEnd = 'success' | 'failed' | 'reversed' | 'abandoned' | 'blocked' | 'rejected';

export const PAYSTACK_TRANSFER_OUTCOMES = ['failed', 'reversed'] as const;
export type PaystackTransferOutcome = (typeof PAYSTACK_TRANSFER_OUTCOMES)[number];

export interface PaystackTransfers {
  routes: SimulatorRoute[];
  /** The next transfer fails after it was pending, or succeeds and is reversed later. */
  plan(outcome: PaystackTransferOutcome): void;
  /** The recipient's side gives a successful transfer back. False when there is none. */
  reverse(reference: string): boolean;
}

const REFERENCE = /^[a-z0-9_-]{16,50}$/;

export function createPaystackTransfers(account: PaystackAccount): PaystackTransfers {
  const { settings } = account;
  const recipients = createPaystackRecipients(account);
  const transfers = new Map<string, PaystackTransfer>();
  const otp = { isRequired: settings.otpForTransfers === 'true' };
  const life = createTransferLife(account);

  function initiate({ json }: SimulatorRequest): SimulatorAnswer {
    const read = readTransfer(account, json, recipients, transfers);
    if ('refusal' in read) return read.refusal;
    transfers.set(read.reference, read);
    account.reserve(read.currency, read.amount);
    if (otp.isRequired) {
      read.status = 'otp';
      life.waitForOtp(read);
      return accepted('Transfer requires OTP to continue', {
        ...transferData(account, read),
        recipient: read.recipient.id,
      });
    }
    life.begin(read);
    return accepted('Transfer has been queued', { ...transferData(account, read), recipient: read.recipient.id });
  }

  function finalize({ json }: SimulatorRequest): SimulatorAnswer {
    const refusal = checkPaystackFields(json, { transfer_code: 'text', otp: 'text' });
    if (refusal) return refusal;
    const found = [...transfers.values()].find(({ code }) => code === json?.transfer_code);
    if (found?.status !== 'otp') return refused('Transfer is not currently awaiting OTP', 'invalid_transfer_state');
    if (json?.otp !== settings.transferOtp) return refused('Invalid OTP', 'invalid_otp');
    life.begin(found);
    return accepted('Transfer has been queued', { ...transferData(account, found), recipient: found.recipient.id });
  }

  function verify({ params }: SimulatorRequest): SimulatorAnswer {
    const found = transfers.get(params.reference ?? '');
    if (!found) return refused('Transfer not found', 'transfer_not_found', 404);
    return accepted('Transfer retrieved', transferData(account, found));
  }

  return {
    plan: (outcome) => life.plan(outcome),
    reverse(reference) {
      const found = transfers.get(reference);
      if (found?.status !== 'success') return false;
      life.reverse(found);
      return true;
    },
    routes: [
      ...recipients.routes,
      { method: 'POST', path: '/transfer', operation: 'payout', handle: initiate },
      { method: 'POST', path: '/transfer/finalize_transfer', operation: 'payout', handle: finalize },
      { method: 'GET', path: '/transfer/verify/:reference', operation: 'query', handle: verify },
      ...otpRoutes(account, otp),
    ],
  };
}

/** Codes for transfers are switched on and off by calls. */
function otpRoutes({ settings: { transferOtp } }: PaystackAccount, state: { isRequired: boolean }): SimulatorRoute[] {
  const post = (path: string, handle: SimulatorRoute['handle']): SimulatorRoute => ({
    method: 'POST',
    path: `/transfer/${path}`,
    operation: 'other',
    handle,
  });
  const done = (message: string) => ({ status: 200, body: { status: true, message } });
  return [
    post('disable_otp', () => done('OTP has been sent to mobile number ending with 4321')),
    post('disable_otp_finalize', ({ json }) => {
      if (json?.otp !== transferOtp) return refused('Invalid OTP', 'invalid_otp');
      state.isRequired = false;
      return done('OTP requirement for transfers has been disabled');
    }),
    post('enable_otp', () => {
      state.isRequired = true;
      return done('OTP requirement for transfers has been enabled');
    }),
    post('resend_otp', () => done('OTP has been resent')),
  ];
}

const FAILURES: Readonly<Partial<Record<Decision, string>>> = {
  not_found: 'Recipient account could not be found',
  limit_reached: 'Recipient has reached the limit of the account',
};

/** What happens to a transfer once it exists. */
function createTransferLife(account: PaystackAccount) {
  const { context, settings } = account;
  const { succeed, reverse, end } = createTransferEnds(account);
  const planned: PaystackTransferOutcome[] = [];
  const waiting = new Map<PaystackTransfer, () => void>();

  function begin(transfer: PaystackTransfer): void {
    waiting.get(transfer)?.();
    waiting.delete(transfer);
    if (settings.approvalUrl) askForApproval(transfer, settings.approvalUrl);
    else {
      transfer.status = 'pending';
      context.after(Number(settings.processingMs), () => process(transfer));
    }
  }

  /** 200 lets it go, 400 stops it, everything else blocks it. */
  function askForApproval(transfer: PaystackTransfer, url: string): void {
    transfer.status = 'received';
    void context.send({
      url,
      body: transferData(account, transfer),
      answered: (answer) => {
        if (answer?.status === 200) {
          transfer.status = 'pending';
          process(transfer);
        } else end(transfer, answer?.status === 400 ? 'rejected' : 'blocked', null);
      },
    });
  }

  function waitForOtp(transfer: PaystackTransfer): void {
    const ms = Number(settings.otpSeconds) * 1000;
    waiting.set(
      transfer,
      context.after(ms, () => end(transfer, 'abandoned', null)),
    );
  }

  function process(transfer: PaystackTransfer): void {
    const decision = decisionOf(transfer.recipient.accountNumber);
    const failure = decision === null ? undefined : FAILURES[decision];
    const outcome = planned.shift();
    if (context.takeFault('unknown_code', 'payout')) end(transfer, 'failed', 'Switch table 4999 mismatch');
    else if (context.takeFault('late_success', 'payout')) {
      // A word that is not in Paystack's list, and not an end.
      transfer.status = 'queued';
      context.after(Number(settings.lateSuccessSeconds) * 1000, () => succeed(transfer));
    } else if (outcome === 'failed') end(transfer, 'failed', null);
    else if (failure !== undefined) end(transfer, 'failed', failure);
    else if (decision === 'ignore')
      context.after(Number(settings.promptSeconds) * 1000, () => end(transfer, 'failed', null));
    else {
      succeed(transfer);
      if (outcome === 'reversed') context.after(Number(settings.reversalSeconds) * 1000, () => reverse(transfer));
    }
  }

  return { begin, waitForOtp, reverse, plan: (outcome: PaystackTransferOutcome) => void planned.push(outcome) };
}

/** How transfers end, and how they come back. */
function createTransferEnds(account: PaystackAccount) {
  const { context } = account;

  function succeed(transfer: PaystackTransfer): void {
    transfer.transferredAt = context.now();
    account.enter(movementOf(transfer, 'payout'), { model: 'Transfer', id: transfer.id, reason: transfer.reason });
    end(transfer, 'success', 'Approved');
  }

  function reverse(transfer: PaystackTransfer): void {
    if (transfer.status !== 'success') return;
    account.enter(movementOf(transfer, 'payout_returned'), {
      model: 'Transfer',
      id: transfer.id,
      reason: `Reversal of ${transfer.code}`,
    });
    transfer.status = 'reversed';
    transfer.updatedAt = context.now();
    account.notify('transfer.reversed', eventData(account, transfer));
  }

  function end(transfer: PaystackTransfer, status: PaystackTransferEnd, gatewayResponse: string | null): void {
    transfer.status = status;
    transfer.gatewayResponse = gatewayResponse;
    transfer.updatedAt = context.now();
    account.reserve(transfer.currency, -transfer.amount);
    if (status === 'success' || status === 'failed') account.notify(`transfer.${status}`, eventData(account, transfer));
  }

  return { succeed, reverse, end };
}

const movementOf = (transfer: PaystackTransfer, kind: 'payout' | 'payout_returned') => ({
  kind,
  id: transfer.reference,
  receipt: transfer.code,
  msisdn: readPhone(transfer.recipient.accountNumber, transfer.currency) ?? transfer.recipient.accountNumber,
  amount: transfer.amount,
  currency: transfer.currency,
});

const TRANSFER_FIELDS = {
  source: 'text',
  amount: 'amount',
  recipient: 'text',
  reference: 'text',
  reason: 'text?',
  currency: 'text?',
};

function readTransfer(
  account: PaystackAccount,
  body: PaystackJson | null,
  recipients: PaystackRecipients,
  transfers: Map<string, PaystackTransfer>,
): PaystackTransfer | { refusal: SimulatorAnswer } {
  const { context, settings, ids } = account;
  const refusal = checkPaystackFields(body, TRANSFER_FIELDS);
  if (refusal || body === null) return { refusal: refusal ?? refused('Invalid JSON') };
  if (settings.starterBusiness === 'true')
    return {
      refusal: refused('You cannot initiate third party payouts as a starter business', 'transfer_unavailable'),
    };
  if (body.source !== 'balance') return { refusal: refused('Source must be balance') };
  const reference = paystackText(body.reference);
  if (!REFERENCE.test(reference))
    return { refusal: refused('The reference has illegal characters, or not 16 to 50 of them', 'invalid_reference') };
  if (transfers.has(reference)) return { refusal: duplicateTransfer(settings.duplicateTransferStatus) };
  const recipient = recipients.find(paystackText(body.recipient));
  if (!recipient) return { refusal: refused('Recipient specified is invalid', 'invalid_transfer_recipient') };
  const currency = paystackText(body.currency) || (settings.defaultCurrency ?? '');
  if (currency !== recipient.currency || !PAYSTACK_CURRENCIES.includes(currency))
    return { refusal: refused('The currency is not that of the recipient') };
  const amount = readSubunits(body.amount, currency, settings);
  if (amount === null) return { refusal: refused('Invalid Amount Sent') };
  if (amount > account.available(currency))
    return { refusal: refused('Your balance is not enough to fulfil this request', 'insufficient_balance') };
  return {
    id: ids.number(),
    code: ids.code('TRF'),
    reference,
    recipient,
    amount,
    currency,
    reason: paystackText(body.reason),
    status: 'pending',
    gatewayResponse: null,
    createdAt: context.now(),
    updatedAt: context.now(),
    transferredAt: null,
  };
}

const duplicateTransfer = (status: string | undefined) =>
  refused(
    'Please provide a unique reference. Reference already exists on a transfer',
    'duplicate_transfer_reference',
    Number(status),
    'Create a new reference for the new transfer',
  );

function transferData(account: PaystackAccount, transfer: PaystackTransfer): PaystackJson {
  const { id, code, reference, recipient, amount, currency, reason, status, transferredAt } = transfer;
  return {
    amount: writeSubunits(amount, currency, account.settings),
    currency,
    domain: account.domain(),
    failures: null,
    id,
    integration: PAYSTACK_INTEGRATION,
    reason,
    reference,
    source: 'balance',
    source_details: null,
    status,
    titan_code: null,
    transfer_code: code,
    transferred_at: transferredAt === null ? null : paystackTime(transferredAt),
    recipient: recipientData(account, recipient),
    session: { provider: null, id: null },
    fee_charged: 0,
    fees_breakdown: null,
    gateway_response: transfer.gatewayResponse,
    createdAt: paystackTime(transfer.createdAt),
    updatedAt: paystackTime(transfer.updatedAt),
  };
}

/** A success has createdAt, the fee and the answer of the bank; the others have created_at and no reason. */
function eventData(account: PaystackAccount, transfer: PaystackTransfer): PaystackJson {
  const { integration: _, fees_breakdown: __, ...data } = transferData(account, transfer);
  const integration = { id: PAYSTACK_INTEGRATION, is_live: true, business_name: account.settings.companyName };
  if (transfer.status === 'success') return { ...data, integration };
  const { createdAt, updatedAt, gateway_response: ___, fee_charged: ____, ...shared } = data;
  return {
    ...shared,
    integration,
    session: { provider: 'nip', id: String(transfer.id) },
    created_at: createdAt,
    updated_at: updatedAt,
  };
}
