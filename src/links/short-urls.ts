// The short address of a payment link, to type from a counter card or to send in a message: /p/7K3QM-9TWXA.

import { type Config, publicUrl } from '../platform/config.ts';

export function shortUrl(config: Config, link: { code: string }): string {
  return `${publicUrl(config)}${shortPath(link)}`;
}

/** In two groups: easier to read aloud and to type. */
export function shortPath({ code }: { code: string }): string {
  return `/p/${code.slice(0, 5)}-${code.slice(5)}`;
}
