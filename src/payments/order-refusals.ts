// Why a payout or a refund that a person ordered is not made, sent or taken back. The API and the command line read the
// message; pages have a sentence of their own for each reason, in the language of the person.

import type { Method } from '../catalog/catalog.ts';
import { Problem, type ProblemCode, type ProblemDetails } from '../platform/errors.ts';

type OrderReason = 'contradicted' | 'overtaken' | 'notWaiting' | 'ownOrder' | 'sentAlready' | 'partOfList';

export class OrderRefusal extends Problem {
  readonly reason: OrderReason;

  constructor(reason: OrderReason, code: ProblemCode, details: ProblemDetails) {
    super(code, details);
    this.reason = reason;
  }
}

/** A refund has more decimals than its operator takes. */
export class RefundDecimalsProblem extends Problem {
  readonly most: number;

  constructor(most: number, { name, currency }: Pick<Method, 'name' | 'currency'>) {
    const sentence =
      most === 0
        ? `${name} takes whole amounts of ${currency}, without decimals.`
        : `${name} takes at most ${most} ${most === 1 ? 'decimal' : 'decimals'} of ${currency}.`;
    super('refund_not_possible', { errors: { amount: [sentence] } });
    this.most = most;
  }
}
