// How each operator does, and why payments failed, in plain words with what to do about it.

import { type FailureCode, isFailureCode } from '../catalog/failures.ts';
import { type Html, html } from '../platform/html.ts';
import { numberLocale } from '../platform/locales.ts';
import { operatorTile } from '../ui/components.ts';
import { type BusinessFigures, type MethodFigures, successRate } from './business-figures.ts';
import type { HolderRequest } from './console-request.ts';
import { countryName, methodName } from './names.ts';

const SHOWN_METHODS = 5;
const SHOWN_REASONS = 3;
/** Below this share of successes an operator is marked. */
const LOW_RATE = 0.85;
/** The worst operator is only named when enough payments were decided there. */
const ENOUGH_PAYMENTS = 5;

export function operatorCards(request: HolderRequest, figures: BusinessFigures): Html | false {
  const { t } = request;
  if (!figures.isCounted || figures.methods.length === 0) return false;
  return html`
    <section class="card" aria-labelledby="by-operator">
      <h2 id="by-operator">${t.home.byOperator}</h2>
      <ul class="operators">
        ${figures.methods.slice(0, SHOWN_METHODS).map((method) => html`<li>${methodLine(request, method)}</li>`)}
      </ul>
    </section>
    ${figures.failures.length > 0 && failureCard(request, figures)}
  `;
}

/** "M-PESA Kenya": operators of one name work in several countries. */
export function operatorName(request: HolderRequest, code: string): string {
  const method = request.ctx.catalog.methods.get(code);
  const name = methodName(request, code);
  return method ? `${name} ${countryName(request, method.country.iso)}` : name;
}

/** The operator with the lowest share of successes, where it is low. */
export function worstOperator({ methods }: BusinessFigures): MethodFigures | null {
  const decided = methods.filter((each) => each.good + each.bad >= ENOUGH_PAYMENTS);
  const [worst] = decided.toSorted((a, b) => (successRate(a) ?? 1) - (successRate(b) ?? 1));
  return worst && (successRate(worst) ?? 1) < LOW_RATE ? worst : null;
}

function methodLine(request: HolderRequest, method: MethodFigures): Html {
  const rate = successRate(method) ?? 0;
  const share = `${Math.round(rate * 1000) / 10}%`;
  const name = operatorName(request, method.method);
  return html`
    <div class="operator-line">
      ${operatorTile(name)}
      <span>${name}</span>
      <b title="${request.t.home.decided(method.good, method.bad)}">${percentText(request, rate)}</b>
    </div>
    <svg class="rate-bar${rate < LOW_RATE && ' low'}" width="100%" height="6" aria-hidden="true">
      <rect class="rate-all" width="100%" height="6" rx="3"/><rect width="${share}" height="6" rx="3"/>
    </svg>
  `;
}

function failureCard(request: HolderRequest, { failures, bad }: BusinessFigures): Html {
  const { t } = request;
  const line = ({ code, count }: BusinessFigures['failures'][number]) => {
    const known: FailureCode = isFailureCode(code) ? code : 'UNSPECIFIED';
    const [reason, advice] = t.failures[known];
    return html`<li><b>${count} × ${reason}</b><span class="muted">${advice}</span></li>`;
  };
  return html`
    <section class="card" aria-labelledby="why-failed">
      <div class="card-head">
        <h2 id="why-failed">${t.home.failedCount(bad)}</h2>
        <a href="/console/transactions?type=collection&status=failed">${t.show}</a>
      </div>
      <ul class="plain reasons">${failures.slice(0, SHOWN_REASONS).map(line)}</ul>
    </section>
  `;
}

/** 91.4 %, or 91,4 % where a comma is written. */
export function percentText({ language }: HolderRequest, share: number): string {
  return `${new Intl.NumberFormat(numberLocale(language), { maximumFractionDigits: 1 }).format(share * 100)}\u00a0%`;
}
