// Setting up and turning off the codes of an authenticator app.

import type { FastifyReply } from 'fastify';
import { confirmSession } from '../holders/members.ts';
import { base32, finishFactor, pendingFactor, removeFactor, startFactor } from '../holders/second-factor.ts';
import { shownBrand } from '../platform/config.ts';
import { type Html, html } from '../platform/html.ts';
import { tag } from '../ui/components.ts';
import { copyLine, qrPicture } from './components.ts';
import { CONFIRMED_MS, fieldOf, type MemberRequest, mayEnrol, signedInMember } from './console-request.ts';
import { codeField } from './credential-fields.ts';
import { askForProof } from './factor-proof.ts';
import { dangerForm, errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { recoveryCodesPage } from './recovery-codes-page.ts';
import { type ConsoleRoute, forMember } from './route.ts';

const PAGE = '/console/account/factor';

export const factorRoutes: ConsoleRoute[] = [
  forMember('POST', '/account/factor', beginFactor),
  forMember('GET', '/account/factor', (request) => factorPage(request)),
  forMember('POST', '/account/factor/proof', endFactor),
  forMember('POST', '/account/factor/off', stopFactor, { confirm: true }),
];

/** On the account page. */
export function factorState(request: MemberRequest): Html {
  const { t, session } = request;
  if (!session.hasTotp)
    return html`
      <h3>${t.profile.app}</h3>
      <p class="muted">${t.profile.factorWhy}</p>
      ${postButton(request, '/account/factor', t.profile.appStart, { variant: 'secondary' })}
    `;
  return html`
    <h3>${t.profile.app} ${tag('success', t.profile.factorOn)}</h3>
    <p class="muted">${t.profile.factorWhy}</p>
    ${dangerForm(
      request,
      '/account/factor/off',
      t.profile.factorRemove,
      session.hasPasskey ? t.profile.factorRemoveOthers : t.profile.factorRemoveMeaning,
    )}
  `;
}

async function beginFactor(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  if (session.hasTotp) return redirect(request, '/console/account');
  if (!mayEnrol(request)) return askForProof(request, PAGE);
  await startFactor(ctx, session.member.id);
  return redirect(request, PAGE);
}

async function factorPage(request: MemberRequest, wrong = false): Promise<FastifyReply> {
  const { ctx, t, session } = request;
  if (session.hasTotp) return redirect(request, '/console/account');
  // The page shows the secret, so it needs the proof as well.
  if (!mayEnrol(request)) return askForProof(request, PAGE);
  const secret = (await pendingFactor(ctx, session.member.id)) ?? (await startFactor(ctx, session.member.id));
  const key = base32(secret);
  const issuer = encodeURIComponent(shownBrand(ctx.config));
  const uri = `otpauth://totp/${issuer}:${encodeURIComponent(session.member.email)}?secret=${key}&issuer=${issuer}`;
  return renderPage(request, {
    title: t.profile.appStart,
    ...(wrong ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${wrong && errorBox(request, undefined, t.code.incorrect)}
        <ol>
          <li>${t.profile.factorScan}</li>
          <li>${t.profile.factorType}</li>
        </ol>
        ${qrPicture(uri, t.profile.factor)}
        <br>
        ${copyLine(request, 'factor-key', key.replace(/(.{4})/g, '$1 ').trim(), t.profile.factor)}
        ${form(request, { action: '/account/factor/proof', fields: [codeField(request)], submit: t.continue })}
      </div>
    `,
  });
}

async function endFactor(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  if (!mayEnrol(request)) return askForProof(request, PAGE);
  if (session.hasTotp) return redirect(request, '/console/account');
  const finished = await finishFactor(ctx, signedInMember(request), fieldOf(request, 'code', 10));
  if (!finished) return factorPage(request, true);
  await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  if (finished.recoveryCodes.length > 0) return recoveryCodesPage(request, finished.recoveryCodes);
  return redirect(request, '/console/account', 'saved');
}

async function stopFactor(request: MemberRequest): Promise<FastifyReply> {
  await removeFactor(request.ctx, signedInMember(request));
  return redirect(request, '/console/account', 'saved');
}
