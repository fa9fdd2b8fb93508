// Code in several languages, one shown at a time: radio buttons and a style sheet, so it works without a script.

import { type Html, html, styleFile } from '../platform/html.ts';
import { codeBlock } from './components.ts';
import type { ConsoleRequest } from './console-request.ts';

export const CODE_TABS_STYLE = styleFile(new URL('./code-tabs.css', import.meta.url));

export type CodeTab = { id: string; label: string; code: string };

/** The first tab is shown. `name` is that of the group, once on a page. */
export function codeTabs(request: ConsoleRequest, name: string, label: string, tabs: readonly CodeTab[]): Html {
  const tab = ({ id, label: text, code }: CodeTab, index: number) => html`
    <input type="radio" name="${name}" id="${name}-tab-${id}"${index === 0 && html` checked`}>
    <label for="${name}-tab-${id}">${text}</label>
    <div class="code-panel">${codeBlock(request, `${name}-${id}`, code, text)}</div>
  `;
  return html`<fieldset class="code-tabs"><legend class="visually-hidden">${label}</legend>${tabs.map(tab)}</fieldset>`;
}
