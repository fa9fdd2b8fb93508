// The tokens for pages that must stay small: only those that their style sheet uses.

import { readFileSync } from 'node:fs';
import { type Inline, inlineStyle } from '../platform/html.ts';

const TOKENS = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');

/** One style of a style sheet and the tokens that it uses: `smallStyle(new URL('./page.css', import.meta.url))`. */
export function smallStyle(file: URL): Inline {
  const css = readFileSync(file, 'utf8');
  const used = TOKENS.replace(/\s(--[\w-]+):[^;]*;/g, (declaration, name: string) =>
    css.includes(`var(${name})`) ? declaration : '',
  );
  return inlineStyle(used + css);
}
