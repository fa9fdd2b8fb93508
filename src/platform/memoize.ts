// Keeps what a pure function made: for values that are slow to make and of which there are few. A format of dates takes more than a
// tenth of a millisecond to make, and a page of the console needs two hundred.

const MOST = 256;

/** `make` depends on its key alone, so what is kept is the same for every context. Everything is forgotten when there are too many. */
export function memoize<Value extends object>(make: (key: string) => Value, most = MOST): (key: string) => Value {
  const kept = new Map<string, Value>();
  return (key) => {
    const known = kept.get(key);
    if (known) return known;
    const value = make(key);
    if (kept.size >= most) kept.clear();
    kept.set(key, value);
    return value;
  };
}

/** Made when it is first asked for; a promise that was rejected is made again. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    if (made) return made.value;
    const value = make();
    made = { value };
    if (value instanceof Promise)
      value.catch(() => {
        made = null;
      });
    return value;
  };
}
