// Coloured code, with highlight.js on the server: the page needs no script for it.

import type { LanguageFn } from 'highlight.js';
import core from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import go from 'highlight.js/lib/languages/go';
import http from 'highlight.js/lib/languages/http';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import yaml from 'highlight.js/lib/languages/yaml';
import { type Html, html, trusted } from '../platform/html.ts';

/** The languages of our pages; each knows its short names, such as `ts` and `sh`, by itself. */
const LANGUAGES: Readonly<Record<string, LanguageFn>> = {
  bash,
  go,
  http,
  java,
  javascript,
  json,
  php,
  python,
  ruby,
  sql,
  typescript,
  yaml,
};

const highlighter = createHighlighter();

function createHighlighter() {
  const instance = core.newInstance();
  instance.configure({ classPrefix: 'hl-' });
  for (const [name, language] of Object.entries(LANGUAGES)) instance.registerLanguage(name, language);
  return instance;
}

/** The code with a span around each word that has a colour; in a language that is not ours, as it stands. */
export function highlight(code: string, language: string): Html {
  if (!highlighter.getLanguage(language)) return html`${code}`;
  return trusted(highlighter.highlight(code, { language, ignoreIllegals: true }).value);
}
