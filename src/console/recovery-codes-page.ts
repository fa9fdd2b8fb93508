// Recovery codes: the only page that shows them, how many are left, and the form that takes one.

import type { FastifyReply } from 'fastify';
import { countRecoveryCodes, renewRecoveryCodes } from '../holders/recovery-codes.ts';
import { shownBrand } from '../platform/config.ts';
import { type Html, html } from '../platform/html.ts';
import { codeBlock } from './components.ts';
import { type ConsoleRequest, type MemberRequest, signedInMember } from './console-request.ts';
import { dangerForm, form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forMember } from './route.ts';

/** Below this many the account page asks for new ones. */
const FEW = 3;

export const recoveryCodeRoutes: ConsoleRoute[] = [
  forMember('POST', '/account/recovery-codes', renew, { confirm: true }),
];

async function renew(request: MemberRequest): Promise<FastifyReply> {
  if (!request.session.hasFactor) return showNone(request);
  return recoveryCodesPage(request, await renewRecoveryCodes(request.ctx, signedInMember(request)));
}

function showNone(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.recovery.title,
    status: 400,
    body: html`<div class="card"><p>${t.recovery.factorFirst}</p><p><a href="/console/account">${t.profile.title}</a></p></div>`,
  });
}

/** The codes, once. */
export function recoveryCodesPage(request: MemberRequest, codes: readonly string[]): Promise<FastifyReply> {
  const { t } = request;
  const numbered = codes.map((code, index) => `${String(index + 1).padStart(2)}  ${code}`).join('\n');
  return renderPage(request, {
    title: t.recovery.title,
    lead: t.recovery.why,
    body: html`
      <p class="box warning">${t.recovery.shownOnce}</p>
      <div class="card">
        <p class="muted">${shownBrand(request.ctx.config)} · ${request.session.member.email}</p>
        ${codeBlock(request, 'recovery-codes', numbered, t.recovery.title)}
        ${' '}
        <button type="button" class="button-secondary" data-print="1" data-js="1" hidden>${t.recovery.print}</button>
      </div>
      <p><a class="button" href="/console/account">${t.recovery.saved}</a></p>
    `,
  });
}

/** On the account page. */
export async function recoveryCodesState(request: MemberRequest): Promise<Html> {
  const { ctx, t, session } = request;
  if (!session.hasFactor) return html`<h3>${t.recovery.title}</h3><p class="muted">${t.recovery.factorFirst}</p>`;
  const left = await countRecoveryCodes(ctx.db, session.member.id);
  return html`
    <h3>${t.recovery.title}</h3>
    <p class="${left < FEW ? 'box warning' : 'muted'}">${t.recovery.left(left)}</p>
    ${dangerForm(request, '/account/recovery-codes', t.recovery.renew, t.recovery.renewMeaning)}
  `;
}

/** Where a code of the second factor is asked for: a way out for somebody who has lost it. */
export function recoveryCodeForm(
  request: ConsoleRequest,
  action: string,
  hidden: Readonly<Record<string, string>>,
  open = false,
): Html {
  const { t } = request;
  return html`
    <details${open && html` open`}>
      <summary>${t.recovery.use}</summary>
      ${form(request, {
        action,
        hidden,
        fields: [
          {
            name: 'recovery_code',
            label: t.recovery.label,
            hint: t.recovery.hint,
            required: true,
            attributes: html`autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="40"`,
          },
        ],
        submit: t.continue,
        variant: 'secondary',
      })}
    </details>
  `;
}
