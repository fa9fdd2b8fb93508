// What is under way, oldest first: for what comes and goes with every request. A Map or a Set would do, but V8 keeps what went through
// them: when one of them gets a new table, the table before points to it, and once one table is old, all that follow survive with
// everything they ever held until the whole heap is marked. Entries of this list point to nothing any more when they have ended.

export class UnderWay<Item> {
  #oldest: Entry<Item> | null = null;
  #newest: Entry<Item> | null = null;

  get oldest(): Item | null {
    return this.#oldest?.item ?? null;
  }

  /** As it is now: what is done with one of them may end it. */
  all(): Item[] {
    const items: Item[] = [];
    for (let entry = this.#oldest; entry; entry = entry.newer) if (entry.item !== null) items.push(entry.item);
    return items;
  }

  add(item: Item): Entry<Item> {
    const entry: Entry<Item> = { item, older: this.#newest, newer: null };
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
    return entry;
  }

  /** It is over. False if it was before. */
  end(entry: Entry<Item>): boolean {
    if (entry.item === null) return false;
    if (entry.older) entry.older.newer = entry.newer;
    else this.#oldest = entry.newer;
    if (entry.newer) entry.newer.older = entry.older;
    else this.#newest = entry.older;
    entry.item = null;
    entry.older = null;
    entry.newer = null;
    return true;
  }
}

/** Only for `end`. */
export type Entry<Item> = { item: Item | null; older: Entry<Item> | null; newer: Entry<Item> | null };
