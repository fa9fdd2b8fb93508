// Code in several languages, one tab each. Radio buttons and CSS do it; a script only remembers which language was chosen.

import { type Html, html } from '../platform/html.ts';

export type LanguageTab = { label: string; content: Html };

/** `name` is unique on its page. At most eight tabs: docs.css has a rule for each place. */
export function languageTabs(name: string, tabs: readonly LanguageTab[]): Html {
  const idOf = (index: number) => `${name}-tab-${index + 1}`;
  const button = ({ label }: LanguageTab, index: number) => html`
    <input type="radio" name="${name}" id="${idOf(index)}" data-language="${languageOf(label)}"${index === 0 && html` checked`}>
    <label for="${idOf(index)}">${label}</label>
  `;
  return html`
    <div class="tabs" role="group" aria-label="Language">
      ${tabs.map(button)}
      <div class="panels">${tabs.map(({ content }) => html`<div class="panel">${content}</div>`)}</div>
    </div>
  `;
}

/** "JavaScript (Express)" and "JavaScript" are one choice. */
function languageOf(label: string): string {
  return label.toLowerCase().split(/[^a-z]/)[0] ?? '';
}
