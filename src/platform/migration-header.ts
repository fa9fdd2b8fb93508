// What the comments of a migration declare about itself (docs/operating.md, "Upgrading without a stop"):
//
//   -- contract: after 0064: fruits.colour, which fruits.colours replaced
//   -- quick: partition_rules, routes: never more than a hundred rows

export type MigrationHeader = {
  /**
   * It takes away what versions before this migration still use: code must know this migration to run on the schema. Null: it only
   * adds, and any version that ran before goes on.
   */
  needs: number | null;
  /** What it does with the rows of these tables takes no time: they are few, or it finds some of them by an index. */
  quick: readonly string[];
};

const MARK = /^-- (contract|quick)\b.*$/gm;
const CONTRACT = /^-- contract: after (\d{4}): \S/;
const QUICK = /^-- quick: (\w+(?:, \w+)*): \S/;

/** Throws on a mark that cannot be read: one that is overlooked would be dangerous. */
export function readHeader(sql: string): MigrationHeader {
  let needs: number | null = null;
  const quick: string[] = [];
  for (const [line, mark] of sql.matchAll(MARK)) {
    const tables = QUICK.exec(line)?.[1];
    const after = CONTRACT.exec(line)?.[1];
    if (mark === 'quick' && tables !== undefined) quick.push(...tables.split(', '));
    else if (mark === 'contract' && after !== undefined) needs = Math.max(needs ?? 0, Number(after));
    else
      throw new Error(
        `"${line}" cannot be read; write "-- contract: after 0064: what is taken away" or "-- quick: table, table: why"`,
      );
  }
  return { needs, quick };
}
