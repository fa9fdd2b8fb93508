// Untrusted names as a page may show them: one line, no control or direction characters, no stacks of accents. This
// keeps such a text from disturbing the text around it; escaping is done by the page.

import type { Method } from '../catalog/catalog.ts';
import { spokenMethod } from '../catalog/spoken-names.ts';
import type { PayerLocale } from './language.ts';

const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
/** Real languages stack two marks, rarely three. */
const TOO_MANY_MARKS = /(\p{M}{3})\p{M}+/gu;

export function showName(text: string): string {
  return text.replace(/\s+/g, ' ').replace(INVISIBLE, '').replace(TOO_MANY_MARKS, '$1').trim();
}

/** The first letter of a name, for businesses without a logo. */
export function initialOf(name: string): string {
  const [first] = new Intl.Segmenter().segment(name);
  return first && first.segment.length <= 8 ? first.segment.toLocaleUpperCase() : '•';
}

/** A number that its owner recognises and no one else can use: "0712 ••••78". Logs show less: see platform/log.ts. */
export function hideMiddleDigits(formatted: string): string {
  // Unbroken: a number over two lines is hard to compare.
  const joined = formatted.replaceAll(' ', '\u00a0');
  const count = formatted.replace(/\D/g, '').length;
  let seen = 0;
  return joined.replace(/\d/g, (digit) => {
    seen++;
    return seen <= 4 || seen > count - 2 ? digit : '•';
  });
}

/** The name of a method. Brands have one; what is called by words, such as a bank transfer, is in the payer's language. */
export function shownMethod({ language }: PayerLocale, method: Pick<Method, 'code' | 'name'>): string {
  return spokenMethod(language, method);
}
