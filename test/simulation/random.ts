// Chance from a seed. A fork depends on the seed and its name only, so that what happens to one payment does not depend
// on the order in which the others were dealt with.

export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number;
  chance(probability: number): boolean;
  /** A whole number, both ends included. */
  int(least: number, most: number): number;
  pick<T>(choices: readonly T[]): T;
  fork(...name: (string | number)[]): Random;
};

export function createRandom(seed: string): Random {
  let state = hash(seed);
  function next(): number {
    // Mulberry32: small, fast, and good enough to choose faults.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    next,
    chance: (probability) => next() < probability,
    int: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick(choices) {
      const chosen = choices[Math.floor(next() * choices.length)];
      if (chosen === undefined) throw new Error('nothing to pick from');
      return chosen;
    },
    fork: (...name) => createRandom(`${seed}/${name.join('/')}`),
  };
}

function hash(text: string): number {
  let value = 2_166_136_261;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return value >>> 0;
}
