// The one rule for the shape of a URL that a caller gives us, for callbacks and for the way back to the shop. Which hosts
// may be called is another question: outbound.ts answers it.

export const MAX_URL_CHARACTERS = 2_048;

/** URL parsers forgive a missing slash and drop line breaks; a URL that is sent on as text must have neither. */
export function isHttpUrl(text: string): boolean {
  return text.length <= MAX_URL_CHARACTERS && /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
}
