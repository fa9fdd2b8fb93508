// Who Paystack pays: recipients with their banks or mobile money, and the names behind accounts.

import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { PAYSTACK_INTEGRATION, type PaystackAccount } from './paystack-account.ts';
import {
  accepted,
  checkPaystackFields,
  type PaystackJson,
  paystackText,
  paystackTime,
  readPhone,
  refused,
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

export interface PaystackRecipients {
  routes: SimulatorRoute[];
  find(code: string): PaystackRecipient | undefined;
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

export function createPaystackRecipients(account: PaystackAccount): PaystackRecipients {
  const recipients = new Map<string, PaystackRecipient>();

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

  return {
    find: (code) => recipients.get(code),
    routes: [
      { method: 'POST', path: '/transferrecipient', operation: 'other', handle: createRecipient },
      { method: 'GET', path: '/bank', operation: 'other', handle: ({ query }) => listBanks(query) },
      {
        method: 'GET',
        path: '/bank/resolve',
        operation: 'name',
        handle: ({ query }) => resolveAccount(account.ids.number(), query),
      },
    ],
  };
}

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

export function recipientData({ domain }: PaystackAccount, recipient: PaystackRecipient): PaystackJson {
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
