// The calls of pawaPay beside payments: configuration, availability, wallets, statements, keys.

import { randomUUID } from 'node:crypto';
import type { SimulatorAnswer, SimulatorContext, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { writeMoney } from './money.ts';
import type { PawapayCallbacks } from './pawapay-callbacks.ts';
import { type PawapayPayments, pawapayTime } from './pawapay-payments.ts';
import {
  limitsOf,
  PAWAPAY_PROVIDERS,
  type PawapayKind,
  type PawapayProvider,
  predictProviders,
} from './pawapay-providers.ts';
import { checkFields, invalid, isObject, type PawapayRefusal, rejected, textOf } from './pawapay-rules.ts';
import type { PawapayWallets } from './pawapay-wallets.ts';

const KINDS: PawapayKind[] = ['deposit', 'payout', 'refund'];
const MAX_STATEMENT_MS = 31 * 86_400_000;

type Parts = {
  context: SimulatorContext;
  settings: Readonly<Record<string, string>>;
  callbacks: PawapayCallbacks;
  wallets: PawapayWallets;
  payments: PawapayPayments;
  /** The answer to a request that is refused; the second is the name of the id in it. */
  refuse: (refusal: PawapayRefusal, idField?: string) => SimulatorAnswer;
};

export function toolkitRoutes(parts: Parts): SimulatorRoute[] {
  const { callbacks, wallets, refuse } = parts;
  return [
    {
      method: 'GET',
      path: '/v2/active-conf',
      operation: 'other',
      handle: (request) => ({ status: 200, body: activeConfiguration(parts, request.query) }),
    },
    {
      method: 'GET',
      path: '/v2/availability',
      operation: 'other',
      handle: (request) => ({ status: 200, body: availability(parts, request.query) }),
    },
    {
      method: 'POST',
      path: '/v2/predict-provider',
      operation: 'name',
      handle: ({ json }) => {
        const phoneNumber = textOf(json?.phoneNumber).replace(/\D/g, '');
        const found = predictProviders(phoneNumber)[0];
        if (!found)
          return refuse({ ...rejected('INVALID_PHONE_NUMBER', 'The phone number is not valid.'), status: 400 });
        return {
          status: 200,
          body: { country: found.country.country, provider: found.provider, phoneNumber },
        };
      },
    },
    {
      method: 'GET',
      path: '/v2/wallet-balances',
      operation: 'balance',
      handle: ({ query }) => ({
        status: 200,
        body: {
          balances: wallets
            .list()
            .filter(({ country }) => (query.get('country') ?? country) === country)
            .map(({ country, currency }) => ({
              country,
              balance: writeMoney(wallets.balance(country)),
              currency,
              provider: '',
            })),
        },
      }),
    },
    ...['/v2/public-key/http', '/public-key/http'].map((path) => ({
      method: 'GET' as const,
      path,
      operation: 'other' as const,
      handle: () => ({ status: 200, body: callbacks.keys.map(({ id, publicPem }) => ({ id, key: publicPem })) }),
    })),
    ...statementRoutes(parts),
  ];
}

function byCountry(query: URLSearchParams): [PawapayProvider['country'], PawapayProvider[]][] {
  const providers = PAWAPAY_PROVIDERS.filter(
    ({ country }) => (query.get('country') ?? country.country) === country.country,
  );
  return [...Map.groupBy(providers, ({ country }) => country)];
}

const kindsOf = (query: URLSearchParams) =>
  KINDS.filter((kind) => (query.get('operationType') ?? kind.toUpperCase()) === kind.toUpperCase());

function activeConfiguration({ settings, callbacks, payments }: Parts, query: URLSearchParams): object {
  const operationTypes = (provider: PawapayProvider) => {
    const entries = kindsOf(query).map((kind) => {
      const { decimals, min, max } = limitsOf(provider, kind);
      const configuration = {
        ...(kind === 'deposit' ? promptOf(provider) : {}),
        minAmount: plainAmount(min),
        maxAmount: plainAmount(max),
        decimalsInAmount: decimals === 0 ? 'NONE' : 'TWO_PLACES',
        status: payments.statusOf(provider.provider, kind),
        callbackUrl: callbacks.addresses[kind],
      };
      return [kind.toUpperCase(), configuration] as const;
    });
    return settings.operationTypes === 'array'
      ? entries.map(([name, value]) => ({ [name]: value }))
      : Object.fromEntries(entries);
  };
  return {
    companyName: settings.companyName,
    signatureConfiguration: {
      signedRequestsOnly: settings.signedRequestsOnly === 'true',
      signedCallbacks: settings.signedCallbacks === 'true',
    },
    countries: byCountry(query).map(([{ country, displayName, dialCode }, providers]) => ({
      country,
      displayName: { en: displayName },
      prefix: dialCode,
      flag: '',
      providers: providers.map((provider) => ({
        provider: provider.provider,
        displayName: provider.displayName,
        logo: '',
        nameDisplayedToCustomer: settings.companyName,
        currencies: [
          { currency: provider.currency, displayName: provider.currency, operationTypes: operationTypes(provider) },
        ],
      })),
    })),
  };
}

function promptOf({ dial, revivable }: PawapayProvider): object {
  return {
    authType: 'PROVIDER_AUTH',
    pinPrompt: dial === null ? 'AUTOMATIC' : 'MANUAL',
    pinPromptRevivable: revivable,
    ...(dial === null
      ? {}
      : {
          pinPromptInstructions: {
            channels: [
              {
                type: 'USSD',
                displayName: { en: 'Enter your PIN', fr: 'Saisissez votre code' },
                quickLink: `tel:${encodeURIComponent(dial)}`,
                instructions: { en: [{ text: `Dial ${dial}` }], fr: [{ text: `Composez le ${dial}` }] },
              },
            ],
          },
        }),
  };
}

const plainAmount = (amount: bigint) => writeMoney(amount).replace(/\.00$/, '');

function availability({ payments }: Parts, query: URLSearchParams): object {
  return byCountry(query).map(([{ country }, providers]) => ({
    country,
    providers: providers.map(({ provider }) => ({
      provider,
      operationTypes: kindsOf(query).map((kind) => ({
        operationType: kind.toUpperCase(),
        status: payments.statusOf(provider, kind),
      })),
    })),
  }));
}

type Statement = { statementId: string; created: string; completedAt?: string; csv: string; callbackUrl: string };

function statementRoutes(parts: Parts): SimulatorRoute[] {
  const { context, settings, callbacks, refuse } = parts;
  const statements = new Map<string, Statement>();
  const files = new Map<string, { csv: string; expiresAt: number }>();

  function dataOf(statement: Statement): object {
    const { statementId, created, completedAt, csv } = statement;
    if (completedAt === undefined) return { statementId, status: 'PROCESSING', created };
    const file = randomUUID();
    const expiresAt = context.now() + Number(settings.statementUrlSeconds) * 1000;
    files.set(file, { csv, expiresAt });
    return {
      statementId,
      status: 'COMPLETED',
      created,
      completedAt,
      fileSize: Buffer.byteLength(csv),
      downloadUrl: `${context.url()}/statement-files/${file}`,
      downloadUrlExpiresAt: pawapayTime(expiresAt),
    };
  }

  function order({ json }: SimulatorRequest): SimulatorAnswer {
    const refusal = checkStatement(parts, json ?? {});
    if (refusal) return refuse(refusal, 'statementId');
    const { wallet, startDate, endDate, callbackUrl } = json as Record<string, unknown>;
    const created = pawapayTime(context.now());
    const statement: Statement = {
      statementId: randomUUID(),
      created,
      csv: '',
      callbackUrl: textOf(callbackUrl),
    };
    statements.set(statement.statementId, statement);
    context.after(Number(settings.statementSeconds) * 1000, () => {
      const { country } = wallet as { country: string };
      statement.csv = statementFile(parts, country, timeOf(startDate), timeOf(endDate));
      statement.completedAt = pawapayTime(context.now());
      callbacks.deliverTo(statement.callbackUrl, dataOf(statement));
    });
    return { status: 200, body: { statementId: statement.statementId, status: 'ACCEPTED', created } };
  }

  return [
    { method: 'POST', path: '/v2/statements', operation: 'other', handle: order },
    {
      method: 'GET',
      path: '/v2/statements/:id',
      operation: 'other',
      handle: ({ params }) => {
        const found = statements.get(params.id ?? '');
        return { status: 200, body: found ? { status: 'FOUND', data: dataOf(found) } : { status: 'NOT_FOUND' } };
      },
    },
    {
      method: 'GET',
      path: '/statement-files/:file',
      operation: 'other',
      handle: ({ params }) => {
        const file = files.get(params.file ?? '');
        return file && file.expiresAt >= context.now()
          ? { status: 200, headers: { 'content-type': 'text/csv' }, body: file.csv }
          : { status: 403, body: 'Request has expired' };
      },
    },
  ];
}

/** "2025-05-10T10:00:00" is UTC. */
const timeOf = (text: unknown) => Date.parse(`${textOf(text).replace(/Z$/, '')}Z`);

function checkStatement({ wallets }: Parts, body: Record<string, unknown>): PawapayRefusal | null {
  const unknown = checkFields(body, ['wallet', 'callbackUrl?', 'startDate', 'endDate', 'compressed?']);
  if (unknown) return unknown;
  const { wallet, callbackUrl } = body;
  if (!isObject(wallet)) return invalid('wallet', 'it must be an object');
  const unknownWallet = checkFields(wallet, ['country', 'currency', 'provider?']);
  if (unknownWallet) return unknownWallet;
  if (callbackUrl !== undefined && !(typeof callbackUrl === 'string' && URL.canParse(callbackUrl)))
    return rejected('INVALID_CALLBACK_URL', 'The callback address is not valid.');
  if (!wallets.list().some(({ country, currency }) => country === wallet.country && currency === wallet.currency))
    return rejected('WALLET_NOT_FOUND', 'There is no such wallet.');
  const length = timeOf(body.endDate) - timeOf(body.startDate);
  return length > 0 && length <= MAX_STATEMENT_MS
    ? null
    : rejected('INVALID_DATE_RANGE', 'A statement covers at most 31 days.');
}

const STATEMENT_COLUMNS = ['Creation Date', 'MSISDN', 'Transaction ID', 'Amount', 'Currency', 'Country', 'MNO', 'Type'];

/** Movements of the wallet, not attempts. */
function statementFile({ payments }: Parts, country: string, from: number, to: number): string {
  const rows = payments
    .list()
    .filter(({ provider, status }) => provider.country.country === country && status === 'COMPLETED')
    .filter(({ acceptedAt }) => acceptedAt >= from && acceptedAt <= to)
    .map(({ created, phoneNumber, id, amount, currency, provider, kind }) => [
      created,
      phoneNumber,
      id,
      writeMoney(kind === 'deposit' ? amount : -amount),
      currency,
      country,
      provider.provider,
      kind.toUpperCase(),
    ]);
  return [STATEMENT_COLUMNS, ...rows].map((row) => `${row.join(',')}\n`).join('');
}
