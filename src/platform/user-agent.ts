// A browser in words that people know: "Chrome" on "Windows". Names come from the User-Agent header, which anybody can
// write, so they help to recognise a device and prove nothing.

/** As much as sessions keep. A header may have 16 kB, in which an expression can look for the same word from every place. */
const READ_CHARACTERS = 300;

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOpera\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bUCBrowser\//, 'UC Browser'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrom(?:e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

export type Device = { browser: string | null; system: string | null };

/** Null for what the header does not say in a known way. */
export function readUserAgent(header: string): Device {
  const read = header.slice(0, READ_CHARACTERS);
  const named = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(read))?.[1] ?? null;
  return { browser: named(BROWSERS), system: named(SYSTEMS) };
}
