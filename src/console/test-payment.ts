// The test payment of the sandbox: a small form on the home page, filled in so that one press is enough.

import type { FastifyReply } from 'fastify';
import { listCollectionCountries } from '../catalog/countries.ts';
import { findActiveIntegration } from '../holders/integrations.ts';
import { acceptWithin } from '../payments/accept.ts';
import { completeOrder, readPayment } from '../payments/collections.ts';
import { refOf } from '../payments/transactions.ts';
import { collectFieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { countryName } from './components.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import { redirect } from './layout.ts';
import { MAKERS } from './route.ts';

const DEFAULT_AMOUNT = '2500';

export function testPaymentCard(request: HolderRequest, problem: Problem | undefined): Html | false {
  const { t, role, ctx } = request;
  if (ctx.config.mode !== 'sandbox' || !MAKERS.includes(role)) return false;
  const rows = testCountries(request);
  const chosen = rows.find((row) => String(row.countryId) === fieldOf(request, 'country_id')) ?? rows[0];
  const examples = rows.map((row) => row.country.example).join(' ');
  return html`
    <section class="card test-payment" id="test-payment" aria-labelledby="test-payment-title">
      <h2 id="test-payment-title">${t.home.testPayment}</h2>
      ${problem && errorBox(request, problem.details.errors, problem.message)}
      ${form(request, {
        action: '/test-payment',
        errors: problem?.details.errors,
        fields: [
          {
            type: 'select',
            name: 'country_id',
            label: t.country,
            value: String(chosen?.countryId ?? ''),
            choices: rows.map(
              (row) => [String(row.countryId), `${countryName(request, row.country)} (${row.currency})`] as const,
            ),
          },
          {
            name: 'mobile',
            label: t.number,
            value: fieldOf(request, 'mobile') || `+${chosen?.country.example ?? ''}`,
            attributes: html`inputmode="tel" data-examples="${examples}"`,
          },
          {
            name: 'amount',
            label: t.amount,
            value: fieldOf(request, 'amount') || DEFAULT_AMOUNT,
            attributes: html`inputmode="decimal"`,
          },
        ],
        submit: t.home.testPaymentButton,
        variant: 'secondary',
      })}
      <p class="muted">${t.home.testPaymentText}</p>
    </section>
  `;
}

function testCountries(request: HolderRequest) {
  return listCollectionCountries(request.ctx.catalog).filter((row) => row.apiCollections);
}

type TestCountry = ReturnType<typeof testCountries>[number];

/** The number, or the example of the chosen country where the form still has that of another one. */
function numberFor(request: HolderRequest, row: TestCountry): string {
  const typed = fieldOf(request, 'mobile');
  const digits = typed.replace(/\D/g, '');
  const isExample = testCountries(request).some((each) => each.country.example === digits);
  return digits === '' || isExample ? `+${row.country.example}` : typed;
}

/** `refuse` shows the form again, with what is wrong. */
export async function createTestPayment(
  request: HolderRequest,
  refuse: (problem: Problem) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const { ctx, holder, services } = request;
  if (ctx.config.mode !== 'sandbox') throw new Problem('forbidden');
  const row = testCountries(request).find((each) => String(each.countryId) === fieldOf(request, 'country_id'));
  if (!row) throw new Problem('country_not_found');
  const fieldErrors = collectFieldErrors();
  const typed = readTypedAmount(fieldOf(request, 'amount'), request.language, { currency: row.currency });
  if (!typed.ok) fieldErrors.add('amount', typed.sentence);
  const payment = typed.ok ? readTestPayment(request, row, typed.amount, fieldErrors.add) : null;
  if (!payment)
    return refuse(new Problem('invalid_params', { errors: fieldErrors.errors, message: request.t.pleaseCorrect }));
  const integration = await findActiveIntegration(ctx.db, holder.id);
  const order = await completeOrder(ctx, payment, {
    holderId: holder.id,
    integrationId: integration?.id ?? null,
    countryId: row.countryId,
    detail: `Test payment by ${request.actor.name}`,
    reference1: null,
    reference2: null,
    callbackUrl: integration?.defaultCallbackUrl ?? null,
    linkId: null,
  });
  const transaction = await acceptWithin(ctx, services.payments.engine, order, async () => undefined);
  return redirect(request, `/console/transactions/${refOf(transaction)}`, 'testPaymentCreated');
}

type AddError = ReturnType<typeof collectFieldErrors>['add'];

/** The number decides the method; where it cannot, the country's first method is tried. */
function readTestPayment(request: HolderRequest, row: TestCountry, amount: bigint, onError: AddError) {
  const read = (method: string | null, add: AddError) =>
    readPayment(
      row,
      { mobile: numberFor(request, row), amount: formatAmount(amount), payment_method_type: method },
      add,
      { lenient: true },
    );
  return read(null, (field, sentence) => onError(field, sentence)) ?? read(row.methods[0]?.code ?? '', () => undefined);
}
