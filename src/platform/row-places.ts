// Where rows were seen last in their tables (`ctid`). While a snapshot is held open no old version of a row can be cleaned away, and
// a lookup by key reads all of them; a lookup at its place reads the one. A place is only where to look first: a statement that uses one
// also names the key, and falls back to it. So it is harmless that another process has moved the row.

/** Those not seen for longest are forgotten. An entry takes about 200 bytes. */
const MAX_PLACES = 20_000;

/**
 * PostgreSQL cleans a page when an index leads to it, and not when a place does. A page that nothing cleans is soon full of old versions;
 * the next one then goes to another page, with a lock and an entry in every index. So a row that has come to one of these lines is looked
 * up by its key: often enough for pages of a hundred versions, rarely enough for keys that lead through all old versions.
 */
const LOOKED_UP = /,(?:32|64|96)\)$/;
/** No row is there. */
const NOWHERE = '(0,0)';

export type RowPlace = { readonly id: bigint; readonly place: string };

export type RowPlaces = {
  /** Null: it is not known. */
  readonly find: (row: string) => RowPlace | null;
  /** In a transaction it is known to others after the commit. */
  readonly note: (row: string, place: RowPlace) => void;
};

export function createRowPlaces(max = MAX_PLACES): RowPlaces {
  // Two halves instead of an order of use: when the younger is full, it becomes the older, and what was in the older is forgotten.
  let younger = new Map<string, RowPlace>();
  let older = new Map<string, RowPlace>();
  return {
    find(row) {
      const known = younger.get(row) ?? older.get(row) ?? null;
      return known && LOOKED_UP.test(known.place) ? { ...known, place: NOWHERE } : known;
    },
    note(row, place) {
      if (younger.size >= max / 2 && !younger.has(row)) {
        older = younger;
        younger = new Map();
      }
      younger.set(row, place);
    },
  };
}

/** The places as one transaction uses them. What it notes is kept by `keep`, after its commit: a row that was rolled back is nowhere. */
export function placesOfTransaction(places: RowPlaces): { readonly places: RowPlaces; readonly keep: () => void } {
  const noted: [row: string, place: RowPlace][] = [];
  return {
    places: { find: places.find, note: (row, place) => noted.push([row, place]) },
    keep: () => {
      for (const [row, place] of noted) places.note(row, place);
    },
  };
}
