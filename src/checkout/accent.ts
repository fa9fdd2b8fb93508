// The merchant's colour, made readable: darkened until white text is readable on it, lightened until it is readable on a
// dark page. Contrast as WCAG 2.2 defines it.

/** For merchants without a colour: the green of the brand. */
export const DEFAULT_ACCENT = '#0f6b5c';
/** The backgrounds of coloured text (ui/tokens.css); of page and card, the one with less contrast. */
export const LIGHT_GROUND = '#f7f6f3';
export const DARK_GROUND = '#181d1a';
const TEXT_CONTRAST = 4.5;
/** Coloured text on a dark background needs more contrast. */
const DARK_TEXT_CONTRAST = 6;
const STEPS = 40;

export type Accent = { onLight: string; onDark: string };

type Rgb = readonly [number, number, number];

export function readAccent(colour: string | null): Accent {
  const given = parseColour(colour ?? '') ?? parseColour(DEFAULT_ACCENT) ?? [0, 0, 0];
  return {
    onLight: moveUntilReadable(given, [0, 0, 0], LIGHT_GROUND, TEXT_CONTRAST),
    onDark: moveUntilReadable(given, [255, 255, 255], DARK_GROUND, DARK_TEXT_CONTRAST),
  };
}

function moveUntilReadable(colour: Rgb, towards: Rgb, ground: string, enough: number): string {
  for (let step = 0; step <= STEPS; step++) {
    const moved = printColour(mix(colour, towards, step / STEPS));
    if (contrast(moved, ground) >= enough) return moved;
  }
  return printColour(towards);
}

/** From 1 (the same) to 21 (black on white). */
export function contrast(left: string, right: string): number {
  const [a, b] = [luminance(left), luminance(right)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = (parseColour(colour) ?? [0, 0, 0]).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const part = (index: 0 | 1 | 2) => Math.round(from[index] + (to[index] - from[index]) * share);
  return [part(0), part(1), part(2)];
}

function parseColour(text: string): Rgb | null {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  return match ? [channel(match[1]), channel(match[2]), channel(match[3])] : null;
}

function channel(hex: string | undefined): number {
  return Number.parseInt(hex ?? '0', 16);
}

function printColour(colour: Rgb): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}
