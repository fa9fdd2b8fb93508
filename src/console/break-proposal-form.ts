// The form that proposes what to do about one break or many, and what each decision does.

import { actionsOf, BREAK_ACTIONS, type BreakAction, MAX_PROPOSAL_REASON } from '../books/break-proposals.ts';
import type { Break } from '../books/breaks.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { fieldOf, type MemberRequest } from './console-request.ts';
import { errorBox, form } from './form-components.ts';

/** Decisions that fit at least one of the breaks can be chosen; where several are selected, each says how many it fits. */
export async function proposeForm(
  request: MemberRequest,
  breaks: readonly Break[],
  errors?: FieldErrors,
): Promise<Html> {
  const { ctx, t } = request;
  const possible = await actionsOf(ctx.db, breaks);
  const fits = (action: BreakAction) => breaks.filter(({ id }) => possible.get(id)?.includes(action)).length;
  const choices = BREAK_ACTIONS.filter((action) => fits(action) > 0);
  const [first, ...others] = choices;
  return html`
    <h2>${t.books.propose}</h2>
    <p>${t.books.twoPeople}</p>
    ${errorBox(request, errors)}
    ${form(request, {
      action: '/admin/books/proposals',
      errors,
      hidden: { breaks: breaks.map(({ id }) => id).join(' ') },
      fields: [
        {
          type: 'radio',
          name: 'action',
          label: t.books.action,
          required: true,
          value: fieldOf(request, 'action') || (others.length === 0 ? first : ''),
          choices: choices.map((action) => {
            const count = breaks.length > 1 ? ` ${t.books.fits(fits(action), breaks.length)}` : '';
            return [action, t.books.actions[action], `${t.books.actionTexts[action]}${count}`] as const;
          }),
        },
        {
          name: 'reason',
          label: t.books.reason,
          hint: t.books.reasonHint,
          required: true,
          value: fieldOf(request, 'reason', MAX_PROPOSAL_REASON),
          attributes: html`minlength="3" maxlength="${MAX_PROPOSAL_REASON}"`,
        },
      ],
      submit: t.books.submit,
    })}
  `;
}
