// Prompts of operators' simulators on the page of the test phones: they are not this sandbox's own, so they are read from the
// simulators when the page is shown, and a decision is handed on.

import type { Form } from '../platform/forms.ts';
import { field } from '../platform/forms.ts';
import { type Html, html, printHtml } from '../platform/html.ts';
import type { PhoneResult } from './test-phone.ts';

/** A prompt that waits at a simulator. `connection`: the name of the connection that leads to it. */
export type OperatorPrompt = {
  connection: string;
  id: string;
  msisdn: string;
  text: string;
  amount: string;
  currency: string;
};

export interface OperatorPrompts {
  list(): Promise<OperatorPrompt[]>;
  /** False when it is not open any more. */
  decide(connection: string, id: string, decision: 'approve' | 'cancel'): Promise<boolean>;
}

/** Where the prompts are, also when there are none: the script puts new ones there. */
export function operatorPromptSection(prompts: readonly OperatorPrompt[]): Html {
  return html`
    <div id="simulators" aria-live="polite" data-version="${versionOf(prompts)}" data-count="${prompts.length}">
      ${promptList(prompts)}
    </div>
  `;
}

/** The same for the script of the page. */
export function describePrompts(prompts: readonly OperatorPrompt[]): { version: string; count: number; html: string } {
  const list = promptList(prompts);
  return { version: versionOf(prompts), count: prompts.length, html: list === false ? '' : printHtml(list) };
}

function versionOf(prompts: readonly OperatorPrompt[]): string {
  return prompts.map(({ connection, id }) => `${connection} ${id}`).join(', ');
}

function promptList(prompts: readonly OperatorPrompt[]): Html | false {
  if (prompts.length === 0) return false;
  return html`
    <section class="simulators" aria-label="Prompts of simulators">
      <h2>Prompts of simulators</h2>
      ${prompts.map(
        ({ connection, id, msisdn, text, amount, currency }) => html`
          <div class="ussd" role="group" aria-label="${msisdn}, ${connection}">
            <p><b>${msisdn}</b> <small>${connection}</small><br>${text || `${currency} ${amount}`}</p>
            <form method="post" action="/sandbox/phone/simulators/${connection}">
              <input type="hidden" name="prompt" value="${id}">
              <div class="buttons">
                <button class="primary" name="decision" value="approve">Enter the PIN</button>
                <button class="button-secondary" name="decision" value="cancel">Cancel</button>
              </div>
            </form>
          </div>
        `,
      )}
      <noscript><p><a href="/sandbox/phone">Reload</a></p></noscript>
    </section>
  `;
}

export async function answerOperatorPrompt(
  prompts: OperatorPrompts,
  connection: string,
  form: Form,
): Promise<PhoneResult> {
  const decision = field(form, 'decision') === 'cancel' ? 'cancel' : 'approve';
  const ok = await prompts.decide(connection, field(form, 'prompt'), decision);
  if (!ok) return { ok, message: 'This prompt is not open any more.' };
  return { ok, message: decision === 'approve' ? 'The PIN was sent.' : 'Cancelled.' };
}
