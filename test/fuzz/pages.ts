// What a browser would find on a page: forms with their fields, and addresses.

export type Form = { readonly action: string; readonly fields: readonly (readonly [string, string])[] };

export function formsOf(page: string): Form[] {
  return [...page.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)].map(([, tag = '', inside = '']) => ({
    action: attribute(tag, 'action') ?? '',
    fields: [...inputsOf(inside), ...choicesOf(inside)],
  }));
}

function inputsOf(inside: string): [string, string][] {
  return [...inside.matchAll(/<(?:input|textarea|button)\b([^>]*)>/g)].flatMap(([, tag = '']) => {
    const name = attribute(tag, 'name');
    return name === null ? [] : [[name, attribute(tag, 'value') ?? '']];
  });
}

function choicesOf(inside: string): [string, string][] {
  return [...inside.matchAll(/<select\b([^>]*)>([\s\S]*?)<\/select>/g)].flatMap(([, tag = '', options = '']) => {
    const name = attribute(tag, 'name');
    const values = [...options.matchAll(/<option\b([^>]*)>/g)].map(
      ([, option = '']) => attribute(option, 'value') ?? '',
    );
    return name === null ? [] : [[name, values.at(-1) ?? '']];
  });
}

export function linksOf(page: string): string[] {
  return [...page.matchAll(/\bhref="(\/[^"#]*)"/g)].map(([, address = '']) => unescapeHtml(address));
}

function attribute(tag: string, name: string): string | null {
  const match = new RegExp(`\\b${name}="([^"]*)"`).exec(tag);
  return match ? unescapeHtml(match[1] ?? '') : null;
}

function unescapeHtml(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))).replaceAll('&amp;', '&');
}
