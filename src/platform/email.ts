// The one rule for what we take as an e-mail address: something, an @, and a domain with a dot. Whether anybody reads
// mail there only a mail can tell, so nothing stricter is of use.

export const MAX_EMAIL_CHARACTERS = 254;
const EMAIL = /^[^\s\p{Cc}@<>()",;:\\]{1,64}@[^\s\p{Cc}@<>()",;:\\.]+(?:\.[^\s\p{Cc}@<>()",;:\\.]+)+$/u;

export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_CHARACTERS && EMAIL.test(text);
}
