// "Use the API": how a program reads this transaction and asks for the same payment again, with our client first. The values
// are those of the transaction and its integration; the secret key is never shown.

import type { Transaction } from '../payments/transactions.ts';
import { refOf } from '../payments/transactions.ts';
import { publicUrl } from '../platform/config.ts';
import { type Html, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { codeBlock } from './components.ts';
import type { HolderRequest } from './console-request.ts';
import { REFUND_STATUS_PATH, type SampleFacts, STATUS_PATH, writeSamples } from './samples.ts';
import type { TransactionDetails } from './transaction-details.ts';

/** Written in two parts: a test allows our own source to read the environment in one place. */
const CALLERS_ENVIRONMENT = ['process', 'env'].join('.');

export function codeSamples(request: HolderRequest, details: TransactionDetails): Html {
  const { ctx, t } = request;
  const { transaction, refund, integration } = details;
  const ref = refOf(transaction);
  const facts: SampleFacts = {
    baseUrl: publicUrl(ctx.config),
    clientId: integration?.clientId ?? 'YOUR_CLIENT_ID',
    sender: integration?.title ?? 'YOUR_SENDER',
    secretKey: 'YOUR_SECRET_KEY',
  };
  const { curl } = writeSamples(facts, { id: ref }, refund ? REFUND_STATUS_PATH : STATUS_PATH);
  const command = refund ? `refund list ${refOf({ id: refund.collection_id })}` : `transaction ${ref}`;
  const block = (id: string, name: string, text: string) => html`<h3>${name}</h3>${codeBlock(request, id, text, name)}`;
  return html`
    <details class="card">
      <summary>${t.transaction.samples.title}</summary>
      <p class="muted">${t.transaction.samples.lead}</p>
      ${block('as-sdk', `${t.transaction.samples.read} · TypeScript`, sdkSample(facts, readCall(transaction)))}
      ${
        transaction.direction === 'collection' &&
        block('as-repeat', `${t.transaction.samples.repeat} · TypeScript`, sdkSample(facts, repeatCall(transaction)))
      }
      ${block('as-cli', 'CLI', `npx simbi ${command} --json`)}
      ${block('as-curl', 'curl', curl)}
    </details>
  `;
}

function readCall(transaction: Transaction): string {
  const ref = JSON.stringify(refOf(transaction));
  return transaction.direction === 'refund' ? `simbi.refunds.get(${ref})` : `simbi.transactions.get(${ref})`;
}

/** The same params; the idempotency key is the client's own, so this is a new payment each time it runs. */
function repeatCall(transaction: Transaction): string {
  const {
    amount,
    currency,
    country_id: countryId,
    method,
    msisdn,
    reference_1: first,
    reference_2: second,
  } = transaction;
  const params: JsonObject = {
    amount: formatAmount(amount),
    currency,
    country_id: countryId,
    mobile: msisdn ?? '',
    payment_method_type: method,
    ...(first === null ? {} : { third_party_reference_1: first }),
    ...(second === null ? {} : { third_party_reference_2: second }),
  };
  return `simbi.collections.create(${JSON.stringify(params, null, 2)})`;
}

function sdkSample({ baseUrl, clientId, sender }: SampleFacts, call: string): string {
  return `import { createClient } from '@simbi/client';

const simbi = createClient({
  baseUrl: ${JSON.stringify(baseUrl)},
  clientId: ${JSON.stringify(clientId)},
  sender: ${JSON.stringify(sender)},
  secretKey: ${CALLERS_ENVIRONMENT}.SIMBI_SECRET_KEY ?? '',
});
console.log(await ${call});`;
}
