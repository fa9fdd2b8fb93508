// Notes on a transaction: the form below its timeline, where they are shown, and what it sends.

import type { FastifyReply } from 'fastify';
import { addNote, MAX_NOTE_CHARACTERS } from '../payments/transaction-notes.ts';
import { refOf } from '../payments/transactions.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { icon } from '../ui/icons.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { form, isRefused } from './form-components.ts';
import { redirect } from './layout.ts';
import { type ConsoleRoute, forRoles, MAKERS } from './route.ts';
import { requireTransaction, type TransactionDetails } from './transaction-details.ts';

export const transactionNoteRoutes: ConsoleRoute[] = [
  forRoles(MAKERS, 'POST', '/transactions/:ref/notes', writeNote, { formOn: '/transactions/:ref' }),
];

export function noteForm(request: HolderRequest, { transaction }: TransactionDetails): Html | false {
  const { t, role } = request;
  if (!MAKERS.includes(role)) return false;
  const { notes } = t.transaction;
  const action = `/transactions/${refOf(transaction)}/notes`;
  const fields = form(request, {
    action,
    fields: [
      {
        type: 'textarea',
        name: 'note',
        label: notes.label,
        hint: notes.hint,
        rows: 2,
        required: true,
        attributes: html`maxlength="${MAX_NOTE_CHARACTERS}"`,
      },
    ],
    submit: notes.add,
    variant: 'secondary',
  });
  return html`
    <details class="note-form"${isRefused(request, action) && html` open`}>
      <summary>${icon('sticky-note')} ${notes.open}</summary>
      ${fields}
    </details>
  `;
}

async function writeNote(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder, t } = request;
  const transaction = await requireTransaction(request);
  // A line break in a form is two characters, and one in the note.
  const note = fieldOf(request, 'note', 2 * MAX_NOTE_CHARACTERS)
    .replaceAll('\r\n', '\n')
    .slice(0, MAX_NOTE_CHARACTERS);
  if (note === '') throw wrongField('note', t.transaction.notes.missing);
  const isAdded = await addNote(ctx, actor, holder.id, transaction.id, note);
  if (!isAdded) throw new Problem('invalid_params', { message: t.transaction.notes.tooMany });
  return redirect(request, `/console/transactions/${refOf(transaction)}`, 'noteAdded');
}
