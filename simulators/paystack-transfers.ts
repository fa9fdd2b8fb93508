// Transfers of Paystack: a recipient first, then the money; perhaps a code or the merchant's approval in between.

import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { PAYSTACK_CURRENCIES, PAYSTACK_INTEGRATION, type PaystackAccount } from './paystack-account.ts';
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
import { decisionOf } from './phones.ts';

export type PaystackRecipient = {
  id: number;
  code: string;
  type: string;
  name: string;
  accountNumber: string;
  bankCode: string;
  currency: string;
  createdAt: number;
};

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

/** The codes that Paystack lists, for each type of recipient and currency. Banks have many: any digits are taken. */
const BANKS: Readonly<Record<string, Record<string, string>>> = {
  'mobile_money GHS': { MTN: 'MTN', VOD: 'Telecel', ATL: 'AirtelTigo' },
  'mobile_money KES': { MPESA: 'M-PESA' },
  'mobile_money_business KES': { MPTILL: 'M-PESA Till', MPPAYBILL: 'M-PESA Paybill' },
  'nuban NGN': { '044': 'Access Bank', '057': 'Zenith Bank', '058': 'Guaranty Trust Bank', '001': 'Test Bank' },
  'ghipss GHS': { '030100': 'Absa Bank Ghana Ltd', '040100': 'GCB Bank Limited' },
  'kepss KES': { '68': 'Equity Bank', '01': 'Kenya Commercial Bank' },
};
const REFERENCE = /^[a-z0-9_-]{16,50}$/;

export function createPaystackTransfers(account: PaystackAccount): PaystackTransfers {
  const { settings, ids } = account;
  const recipients = new Map<string, PaystackRecipient>();
  const transfers = new Map<string, PaystackTransfer>();
  const otp = { isRequired: settings.otpForTransfers === 'true' };
  const life = createTransferLife(account);

  function createRecipient({ json }: SimulatorRequest): SimulatorAnswer {
    const read = readRecipient(account, json);
    if ('refusal' in read) return read.refusal;
    const same = [...recipients.values()].find(
      ({ type, accountNumber, bankCode, currency }) =>
        type === read.type &&
        accountNumber === read.accountNumber &&
        bankCode === read.bankCode &&
        currency === read.currency,
    );
    const recipient = same ?? read;
    recipients.set(recipient.code, recipient);
    return accepted('Transfer recipient created successfully', recipientData(account, recipient), {}, 201);
  }

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
      { method: 'POST', path: '/transferrecipient', operation: 'other', handle: createRecipient },
      { method: 'POST', path: '/transfer', operation: 'payout', handle: initiate },
      { method: 'POST', path: '/transfer/finalize_transfer', operation: 'payout', handle: finalize },
      { method: 'GET', path: '/transfer/verify/:reference', operation: 'query', handle: verify },
      ...otpRoutes(account, otp),
      { method: 'GET', path: '/bank', operation: 'other', handle: ({ query }) => listBanks(query) },
      {
        method: 'GET',
        path: '/bank/resolve',
        operation: 'name',
        handle: ({ query }) => resolveAccount(ids.number(), query),
      },
    ],
  };

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
}

/** What happens to a transfer once it exists. */
function createTransferLife(account: PaystackAccount) {
  const { context, settings } = account;
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
    const outcome = planned.shift();
    if (context.takeFault('unknown_code', 'payout')) end(transfer, 'failed', 'Switch table 4999 mismatch');
    else if (context.takeFault('late_success', 'payout')) {
      // A word that is not in Paystack's list, and not an end.
      transfer.status = 'queued';
      context.after(Number(settings.lateSuccessSeconds) * 1000, () => succeed(transfer));
    } else if (outcome === 'failed') end(transfer, 'failed', null);
    else if (decision === 'not_found') end(transfer, 'failed', 'Recipient account could not be found');
    else if (decision === 'limit_reached') end(transfer, 'failed', 'Recipient has reached the limit of the account');
    else if (decision === 'ignore')
      context.after(Number(settings.promptSeconds) * 1000, () => end(transfer, 'failed', null));
    else {
      succeed(transfer);
      if (outcome === 'reversed') context.after(Number(settings.reversalSeconds) * 1000, () => reverse(transfer));
    }
  }

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

  return { begin, waitForOtp, reverse, plan: (outcome: PaystackTransferOutcome) => void planned.push(outcome) };
}

const movementOf = (transfer: PaystackTransfer, kind: 'payout' | 'payout_returned') => ({
  kind,
  id: transfer.reference,
  receipt: transfer.code,
  msisdn: readPhone(transfer.recipient.accountNumber, transfer.currency) ?? transfer.recipient.accountNumber,
  amount: transfer.amount,
  currency: transfer.currency,
});

const RECIPIENT_FIELDS = {
  type: 'text',
  name: 'text',
  account_number: 'text',
  bank_code: 'text',
  currency: 'text?',
  description: 'text?',
  metadata: 'any?',
  account_reference: 'text?',
};

function readRecipient(
  { context, settings, ids }: PaystackAccount,
  body: PaystackJson | null,
): PaystackRecipient | { refusal: SimulatorAnswer } {
  const refusal = checkPaystackFields(body, RECIPIENT_FIELDS);
  if (refusal || body === null) return { refusal: refusal ?? refused('Invalid JSON') };
  const type = paystackText(body.type);
  const currency = paystackText(body.currency) || (settings.defaultCurrency ?? '');
  const bankCode = paystackText(body.bank_code);
  const accountNumber = paystackText(body.account_number);
  const banks = BANKS[`${type} ${currency}`];
  if (!banks) return { refusal: refused(`Recipients of type ${type} are not supported for ${currency}`) };
  const isMobile = type.startsWith('mobile_money');
  if (isMobile ? !(bankCode in banks) : !/^\d{2,6}$/.test(bankCode))
    return { refusal: refused('Invalid bank code', 'invalid_bank_code') };
  const isAccount =
    type === 'mobile_money'
      ? accountNumber.startsWith('0') && readPhone(accountNumber, currency) !== null
      : type === 'nuban'
        ? /^\d{10}$/.test(accountNumber)
        : /^\d{5,20}$/.test(accountNumber);
  if (!isAccount) return { refusal: refused('Account number is invalid', 'invalid_account_number') };
  return {
    id: ids.number(),
    code: ids.code('RCP'),
    type,
    name: paystackText(body.name),
    accountNumber,
    bankCode,
    currency,
    createdAt: context.now(),
  };
}

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
  recipients: Map<string, PaystackRecipient>,
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
  const recipient = recipients.get(paystackText(body.recipient));
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

function recipientData({ domain }: PaystackAccount, recipient: PaystackRecipient): PaystackJson {
  const { id, code, type, name, accountNumber, bankCode, currency, createdAt } = recipient;
  return {
    active: true,
    createdAt: paystackTime(createdAt),
    currency,
    description: null,
    domain: domain(),
    email: null,
    id,
    integration: PAYSTACK_INTEGRATION,
    metadata: null,
    name,
    recipient_code: code,
    type,
    updatedAt: paystackTime(createdAt),
    is_deleted: false,
    isDeleted: false,
    details: {
      authorization_code: null,
      account_number: accountNumber,
      account_name: null,
      bank_code: bankCode,
      bank_name: BANKS[`${type} ${currency}`]?.[bankCode] ?? null,
    },
  };
}

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

function listBanks(query: URLSearchParams): SimulatorAnswer {
  const banks = Object.entries(BANKS).flatMap(([key, names]) => {
    const [type = '', currency = ''] = key.split(' ');
    return Object.entries(names).map(([code, name]) => ({ name, code, currency, type, active: true }));
  });
  const matches = (name: 'currency' | 'type', value: string) => (query.get(name) ?? value) === value;
  return accepted(
    'Banks retrieved',
    banks.filter(({ currency, type }) => matches('currency', currency) && matches('type', type)),
  );
}

function resolveAccount(id: number, query: URLSearchParams): SimulatorAnswer {
  const account_number = query.get('account_number') ?? '';
  if (!/^\d{10}$/.test(account_number) || decisionOf(account_number) === 'not_found')
    return refused('Could not resolve account name. Check parameters or try again.', 'invalid_bank_code', 422);
  return accepted('Account number resolved', { account_number, account_name: 'ANN ABELL', bank_id: id });
}
