// A list that is read page by page, as far as somebody goes on asking.

export type Page<T> = { items: T[]; next: string | null };

export type List<T> = AsyncIterable<T> & {
  /** The first `limit` items. */
  toArray(options: { limit: number }): Promise<T[]>;
};

/** `first` is where to begin; null: at the beginning. */
export function createList<T>(
  readPage: (from: string | null) => Promise<Page<T>>,
  first: string | null = null,
): List<T> {
  async function* items(): AsyncGenerator<T, void, void> {
    let from = first;
    do {
      const page: Page<T> = await readPage(from);
      yield* page.items;
      from = page.next;
    } while (from !== null);
  }
  return {
    [Symbol.asyncIterator]: items,
    async toArray({ limit }) {
      const found: T[] = [];
      if (limit <= 0) return found;
      for await (const item of items()) {
        found.push(item);
        if (found.length >= limit) break;
      }
      return found;
    },
  };
}
