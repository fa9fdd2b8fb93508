// Keeps what a pure function made: for values that are slow to make and of which there are few. A format of dates takes a quarter of
// a millisecond to make, and a page of the console shows a hundred dates.

const MOST = 256;

/** `make` depends on its key alone, so what is kept is the same for every context. */
export function memoize<Value extends object>(make: (key: string) => Value): (key: string) => Value {
  const kept = new Map<string, Value>();
  return (key) => {
    const known = kept.get(key);
    if (known) return known;
    const value = make(key);
    if (kept.size >= MOST) kept.clear();
    kept.set(key, value);
    return value;
  };
}
