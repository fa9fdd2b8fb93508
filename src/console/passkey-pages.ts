// Adding and removing passkeys on the account page.

import type { FastifyReply } from 'fastify';
import { confirmSession } from '../holders/members.ts';
import { addPasskey, askForNewPasskey, listPasskeys, type Passkey, removePasskey } from '../holders/passkeys.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { tag } from '../ui/components.ts';
import { timeTag } from './components.ts';
import {
  CONFIRMED_MS,
  fieldOf,
  idOf,
  type MemberRequest,
  mayEnrol,
  originOf,
  paramOf,
  signedInMember,
} from './console-request.ts';
import { describeDevice } from './device.ts';
import { askForProof } from './factor-proof.ts';
import { dangerForm, postButton } from './form-components.ts';
import { redirect } from './layout.ts';
import { MAX_CREDENTIAL_CHARACTERS, passkeyForm, wherePasskeys } from './passkey-form.ts';
import { recoveryCodesPage } from './recovery-codes-page.ts';
import { type ConsoleRoute, forMember } from './route.ts';

const NAME_CHARACTERS = 60;

export const passkeyRoutes: ConsoleRoute[] = [
  forMember('POST', '/account/passkeys/proof', async (request) => askForProof(request, '/console/account')),
  forMember('POST', '/account/passkeys/options', newOptions, { withoutCredential: true }),
  forMember('POST', '/account/passkeys', add, { withoutCredential: true }),
  forMember('POST', '/account/passkeys/:id/remove', remove, { confirm: true }),
];

/** On the account page: the list, and the form that adds one after a proof. */
export async function passkeyState(request: MemberRequest): Promise<Html> {
  const { ctx, t, session } = request;
  const passkeys = await listPasskeys(ctx.db, session.member.id);
  return html`
    <h3>${t.passkeys.title} ${passkeys.length > 0 && tag('success', t.profile.factorOn)}</h3>
    <p class="muted">${t.passkeys.why}</p>
    ${passkeys.length > 0 && html`<ul class="plain">${passkeys.map((each) => passkeyItem(request, each))}</ul>`}
    ${mayEnrol(request) ? addForm(request) : wherePasskeys(request, proofButton(request))}
  `;
}

function passkeyItem(request: MemberRequest, passkey: Passkey): Html {
  const { t } = request;
  return html`
    <li>
      <b><bdi>${passkey.name}</bdi></b>
      <br>
      <span class="muted">
        ${t.passkeys.added} ${timeTag(request, passkey.created_at)}
        ${passkey.last_used_at && html` · ${t.passkeys.lastUsed} ${timeTag(request, passkey.last_used_at)}`}
      </span>
      ${dangerForm(request, `/account/passkeys/${passkey.id}/remove`, t.passkeys.remove, t.passkeys.removeMeaning)}
    </li>
  `;
}

function proofButton(request: MemberRequest): Html {
  return postButton(request, '/account/passkeys/proof', request.t.passkeys.add);
}

function addForm(request: MemberRequest): Html {
  const { t } = request;
  return passkeyForm(request, {
    kind: 'create',
    action: '/account/passkeys',
    fields: [
      {
        name: 'name',
        label: t.passkeys.name,
        hint: t.passkeys.nameHint,
        value: describeDevice(request, originOf(request).userAgent),
        required: true,
        attributes: html`maxlength="${NAME_CHARACTERS}"`,
      },
    ],
    submit: t.passkeys.add,
  });
}

async function newOptions(request: MemberRequest): Promise<FastifyReply> {
  if (!mayEnrol(request)) throw new Problem('unauthenticated', { message: request.t.proof.lead });
  const browser = { browser: request.csrf, address: addressOf(request.raw) };
  const options = await askForNewPasskey(request.ctx, request.session.member, browser);
  return request.reply.header('Cache-Control', 'no-store').send(options);
}

async function add(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t, session } = request;
  if (!mayEnrol(request)) return askForProof(request, '/console/account');
  const name =
    fieldOf(request, 'name', NAME_CHARACTERS)
      .replace(/\p{Cc}/gu, ' ')
      .trim() || t.passkeys.unnamed;
  const credential = fieldOf(request, 'credential', MAX_CREDENTIAL_CHARACTERS);
  const added = await addPasskey(ctx, signedInMember(request), request.csrf, { credential, name });
  if (!added) throw new Problem('invalid_params', { message: t.passkeys.notAdded });
  await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  if (added.recoveryCodes.length > 0) return recoveryCodesPage(request, added.recoveryCodes);
  return redirect(request, '/console/account', 'saved');
}

async function remove(request: MemberRequest): Promise<FastifyReply> {
  await removePasskey(request.ctx, signedInMember(request), idOf(paramOf(request, 'id')));
  return redirect(request, '/console/account', 'saved');
}
