// The language that a browser asks for.

const MAX_HEADER_LENGTH = 500;

/** The best of the supported languages in an Accept-Language header; null when it names none of them. */
export function preferredLanguage(header: string | undefined, supported: readonly string[]): string | null {
  const asked = (header ?? '')
    .slice(0, MAX_HEADER_LENGTH)
    .split(',')
    .flatMap((part, index) => {
      const [tag = '', ...options] = part.trim().toLowerCase().split(';');
      const language = supported.find((code) => code === tag.split('-')[0]);
      const quality = Number(/^\s*q=([\d.]+)/.exec(options[0] ?? '')?.[1] ?? 1);
      return language !== undefined && quality > 0 ? [{ language, quality, index }] : [];
    })
    .sort((left, right) => right.quality - left.quality || left.index - right.index);
  return asked[0]?.language ?? null;
}
