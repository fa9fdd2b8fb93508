// French puts a space before some signs, and the sign never begins a line. Texts are written with plain spaces, as they are
// typed; these become no-break spaces here.

/** The texts, and what functions among them return, with no-break spaces. */
export function withFrenchSpaces<T>(texts: T): T {
  return spaced(texts) as T;
}

function spaced(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/ (?=[:»])|(?<=«) /g, '\u00a0').replace(/ (?=[;!?%])/g, '\u202f');
  if (typeof value === 'function') return (...given: unknown[]) => spaced(value(...given));
  if (Array.isArray(value)) return value.map(spaced);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, spaced(inner)]));
}

/** A label with its colon: "Reserved:", and in French "Réservé :". */
export function withColon({ language }: { language: string }, label: string): string {
  return language === 'fr' ? `${label}\u00a0:` : `${label}:`;
}
