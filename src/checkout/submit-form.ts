// Taking a form that was sent: the order of the checks, and what each of them leads to. Whatever happens, one form makes
// at most one payment.

import type { PaymentLink } from '../links/links.ts';
import { completeOrder } from '../payments/collections.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { Problem } from '../platform/errors.ts';
import { createRateLimiter } from '../platform/rate-limit.ts';
import { type FormDraft, type FormNotice, readFormToken } from './form-tokens.ts';
import { findAttemptByForm, startAttempt } from './link-attempts.ts';
import { readOrder } from './order.ts';
import type { LinkView } from './view.ts';

/** Generous, because a whole town may share one address of its carrier. */
const ADDRESS_PER_SECOND = 1;
const ADDRESS_BURST = 60;
const LINK_PER_SECOND = 2;
const LINK_BURST = 60;

export type SubmitResult =
  /** Go and see this attempt. */
  | { kind: 'attempt'; transactionId: string }
  /** Back to the form, with what was typed. */
  | { kind: 'form'; draft: FormDraft }
  /** The link shows how it stands. */
  | { kind: 'link' };

export type SentForm = {
  link: PaymentLink;
  view: LinkView;
  draft: FormDraft;
  token: string;
  confirmed: boolean;
  /** Where it came from on the network. */
  address: string;
};

export interface FormSubmitter {
  take(form: SentForm): Promise<SubmitResult>;
}

export function createFormSubmitter(ctx: PaymentsContext, engine: PaymentEngine): FormSubmitter {
  const addresses = createRateLimiter(ctx.clock, ADDRESS_PER_SECOND, ADDRESS_BURST);
  const links = createRateLimiter(ctx.clock, LINK_PER_SECOND, LINK_BURST);

  return {
    async take({ link, view, draft, token: text, confirmed, address }) {
      const back = (notice: FormNotice | null): SubmitResult => ({ kind: 'form', draft: { ...draft, notice } });
      const token = readFormToken(ctx, link.id, text);
      if (!token) return back({ kind: 'form_old' });
      // Reload, Back, a double click, a lost answer: the same form leads to the same attempt, before anything else is asked.
      const same = await findAttemptByForm(ctx.db, link.id, token.id);
      if (same) return { kind: 'attempt', transactionId: same };
      if (view.status !== 'active' || !view.row) return { kind: 'link' };
      const { payment, faults, questions } = readOrder(view.reading, link, view.row, draft);
      if (!payment || faults.size > 0 || (questions.length > 0 && !confirmed)) return back(null);
      if (!addresses.take(address).allowed || !links.take(link.id).allowed) return back({ kind: 'too_many' });
      try {
        const order = await completeOrder(ctx, payment, {
          holderId: link.holder_id,
          integrationId: link.integration_id,
          countryId: view.row.countryId,
          detail: view.link.item_name ?? `Payment to ${view.business}`,
          reference1: null,
          reference2: null,
          callbackUrl: link.callback_url,
          linkId: link.id,
        });
        const start = await startAttempt(ctx, engine, link, token, { ...order, msisdn: payment.msisdn }, draft);
        switch (start.kind) {
          case 'started':
            return { kind: 'attempt', transactionId: start.transaction.id };
          case 'there_is_one':
            return { kind: 'attempt', transactionId: start.transactionId };
          case 'link_closed':
            return { kind: 'link' };
          case 'number_tired':
            return back({ kind: 'number_tired', until: start.until.getTime() });
          case 'too_many':
            return back({ kind: 'too_many' });
        }
      } catch (error) {
        if (error instanceof Problem && error.code === 'operator_unavailable')
          return back({ kind: 'operator_down', method: payment.method.code });
        throw error;
      }
    },
  };
}
