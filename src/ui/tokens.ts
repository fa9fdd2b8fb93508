// The tokens in two forms: with the theme that a person chose, and small ones for payers' pages.

import { readFileSync } from 'node:fs';
import { type Inline, inlineStyle } from '../platform/html.ts';

const SOURCE = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');
const DARK = /@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}/;

/** Dark where the system is, unless `data-theme` of the page says otherwise. The colours are written once, in tokens.css. */
export const TOKENS = inlineStyle(
  SOURCE.replace(
    DARK,
    (_, colours: string) => `
      @media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { ${colours} } }
      :root[data-theme="dark"] { color-scheme: dark; ${colours} }
      :root[data-theme="light"] { color-scheme: light; }
    `,
  ),
);

/** One style of a style sheet and the tokens that it uses: `smallStyle(new URL('./page.css', import.meta.url))`. */
export function smallStyle(file: URL): Inline {
  const css = readFileSync(file, 'utf8');
  const used = SOURCE.replace(/\s(--[\w-]+):[^;]*;/g, (declaration, name: string) =>
    css.includes(`var(${name})`) ? declaration : '',
  );
  return inlineStyle(used + css);
}
