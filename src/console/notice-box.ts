// Notices about the member's own account, on top of every page until they are read.

import type { SecurityNotice } from '../holders/notices.ts';
import { type Html, html } from '../platform/html.ts';
import { timeTag } from './components.ts';
import type { ConsoleRequest } from './console-request.ts';
import { describeDevice } from './device.ts';
import { form, postButton } from './form-components.ts';

/** The others follow as these are read. */
const MAX_SHOWN = 3;

export function noticeBox(request: ConsoleRequest): Html | false {
  const { t, notices } = request;
  if (notices.length === 0) return false;
  return html`
    <section class="box warning" aria-label="${t.securityNotices.title}">
      ${notices.slice(0, MAX_SHOWN).map((notice) => noticeItem(request, notice))}
      ${notices.length > MAX_SHOWN && html`<p>${t.securityNotices.more(notices.length - MAX_SHOWN)}</p>`}
    </section>
  `;
}

function noticeItem(request: ConsoleRequest, notice: SecurityNotice): Html {
  const { t } = request;
  const path = `/notices/${notice.id}`;
  return html`
    <div class="notice">
      <p>
        <b>${t.securityNotices.kinds[notice.kind](notice.detail)}</b>
        <br>
        ${timeTag(request, notice.at)} · ${describeDevice(request, notice.user_agent)} · ${notice.address}
      </p>
      <div class="actions">
        ${postButton(request, `${path}/read`, t.securityNotices.mine, { variant: 'secondary' })}
        <details>
          <summary>${t.securityNotices.notMine}</summary>
          <p>${t.securityNotices.notMineMeaning}</p>
          ${form(request, { action: `${path}/not-me`, submit: t.securityNotices.endAll, variant: 'danger' })}
        </details>
      </div>
    </div>
  `;
}
