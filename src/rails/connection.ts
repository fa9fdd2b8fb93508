// What a rail is opened with, and what a rail file says about itself. A rail is code for one operator's protocol; a
// connection is an account there.

import type { Clock } from '../platform/clock.ts';
import type { Exchange, OperatorCall } from './exchange.ts';
import type { Rail } from './rail.ts';

/** simulator: a program on this machine. sandbox: the operator's own test system. production: real money. */
export const ENVIRONMENTS = ['simulator', 'sandbox', 'production'] as const;
export type OperatorEnvironment = (typeof ENVIRONMENTS)[number];

/** One field of the form, the command, the docs page and the validation of a connection. */
export type RailSetting = {
  /** As in `--set name=value`: letters, digits and underscores. */
  readonly name: string;
  readonly label: string;
  /** One sentence: where the operator shows it. */
  readonly help: string;
  /** secret: sealed, never shown again. pem: a key or certificate, pasted or from a file; sealed when `sealed`. */
  readonly kind: 'text' | 'secret' | 'pem' | 'choice' | 'yes_no' | 'address_ranges' | 'list';
  readonly sealed?: true;
  /** It names the account at the operator: it stays as it is while transactions are open there. */
  readonly namesAccount?: true;
  /**
   * The operator knows the account by it alone, and a new one can be that of another account. It may change at any time, as a
   * key that somebody stole must; what was sent before is then not believed to be unknown to the operator.
   */
  readonly isAccountKey?: true;
  readonly choices?: readonly string[];
  /** Absent: required. */
  readonly optional?: true;
  /** The value of a new connection; `simulator`, that of a connection to the simulator. */
  readonly initial?: string;
  readonly simulator?: string;
  /** What a value must look like, and how that is said. */
  readonly pattern?: RegExp;
  readonly patternHelp?: string;
};

export type RailDefinition = {
  /** The name in commands and addresses: "mtn-momo". */
  readonly name: string;
  readonly title: string;
  /** Codes of the methods that it can serve, in either direction. */
  readonly methods: readonly string[];
  readonly settings: readonly RailSetting[];
  /** Where each environment is; null: the operator has none. A simulator's address is given when the connection is made. */
  readonly hosts: { readonly sandbox: string | null; readonly production: string | null };
  /** Where its simulator listens on this machine unless told otherwise. */
  readonly simulatorPort?: number;
  /** Words that the operator forbids in callback addresses; the connection's name may not contain them. */
  readonly forbiddenInAddresses?: readonly string[];
  /**
   * What the operator sends reports about to one address only: a pay bill, an application, an account by its key. Two connections
   * with the same would get each other's, and count the same money twice.
   */
  readonly accountsOf?: (values: Readonly<Record<string, string>>) => readonly string[];
  /**
   * The account that payouts are paid from, where `accountsOf` does not have it: the operator reports on each payout to the address
   * that was sent with it. Two connections may share it; each then sees the float of both.
   */
  readonly paysFrom?: (values: Readonly<Record<string, string>>) => string | null;
  /** A new access token ends the one before: it is fetched when no call with the old one is in flight. */
  readonly oneLiveToken?: true;
  open(connection: RailConnection): Rail;
};

/** A connection as its rail sees it. Settings and secrets are one record: the schema says which are sealed. */
export type RailConnection = {
  readonly name: string;
  readonly environment: OperatorEnvironment;
  readonly baseUrl: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Codes of the methods that this connection serves: a part of the definition's. */
  readonly methods: readonly string[];
  readonly clock: Clock;
  /** https://host[:port] of this gateway, as operators address it. */
  readonly publicUrl: string;
  readonly addresses: CallbackAddresses;
  readonly tokens: TokenStore;
  /** Time-out of a call; CALL_TIMEOUT_MS unless a test says otherwise. */
  readonly timeoutMs: number;
  /** Each call, scrubbed, for the page of the connection. */
  record(call: OperatorCall): void;
};

/**
 * Addresses that only the operator is given: /operators/<connection>/<topic>/<reference>/<token>, where the token is an HMAC of
 * the rest under a key of the vault. `topic` tells apart what an operator sends to different addresses ("stk", "result").
 */
export interface CallbackAddresses {
  /** For one transaction, or for the whole connection when the reference is null. */
  url(topic: string, reference: string | null): string;
  /** Null when the path is none of ours, or its token is wrong. */
  read(path: string): { topic: string; reference: string | null } | null;
}

/** Null: the operator gave no token; the reason is the answer. */
export type FetchToken = () => Promise<{ token: string; validForMs: number } | { error: Exchange }>;

/** The access tokens of a connection: fetched once for all callers and processes, renewed before they end. */
export interface TokenStore {
  /**
   * Makes a call with the live token of this kind ("collection", "disbursement"; "" where there is one). If the operator refuses
   * the token, fetches a new one, once for all, and makes the call once more. A refused token proves that nothing was done.
   */
  withToken(
    kind: string,
    fetch: FetchToken,
    call: (token: string) => Promise<Exchange>,
    isRefused: (answer: Exchange) => boolean,
  ): Promise<Exchange>;
}
