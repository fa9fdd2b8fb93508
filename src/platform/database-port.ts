// The port of a database: no callback may go there.

const DEFAULT_PORT = 5432;

export function databasePort(url: string): number {
  return Number(URL.parse(url)?.port || DEFAULT_PORT);
}
