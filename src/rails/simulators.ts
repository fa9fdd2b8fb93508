// Where the simulator of a rail listens unless somebody says otherwise: each rail has a port of its own, in the order of the list.

import type { RailDefinition } from './connection.ts';

const FIRST_PORT = 9101;

export function simulatorPort(definitions: readonly RailDefinition[], rail: string): number {
  return FIRST_PORT + definitions.findIndex(({ name }) => name === rail);
}

export function simulatorUrl(definitions: readonly RailDefinition[], rail: string): string {
  return `http://127.0.0.1:${simulatorPort(definitions, rail)}`;
}
