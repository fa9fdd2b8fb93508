// Who takes part in a story: one business with its people and programs, a second business whose records nobody else may
// see, an admin, and strangers. Each story has its own, so that it can be replayed alone.

import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { addMember, type MemberRole, ROLES } from '../../src/holders/members.ts';
import { topUpSandbox } from '../../src/payments/sandbox-top-up.ts';
import { type Client, clientOf, PATHS, textOf } from '../client.ts';
import { addPerson, type Person } from '../console-harness.ts';
import type { TestGateway } from '../gateway.ts';
import { createShop } from '../shop.ts';
import type { Random } from '../simulation/random.ts';
import type { Form } from './pages.ts';

/** The names of every second business begin with this. No answer to anybody else may contain it. */
export const FOREIGN_NAME = 'Beta-';

/** People in one story; more would only take longer to make. */
const PEOPLE = 3;

export type Browser = Pick<Person, 'cookie' | 'csrf'> & { role: MemberRole | 'admin' };

export type Fixture = {
  readonly gateway: TestGateway;
  readonly client: Client;
  readonly token: string;
  readonly people: readonly Browser[];
  /** What belongs to the second business. */
  readonly foreign: { readonly client: Client; readonly ids: readonly string[]; readonly texts: readonly string[] };
  /** What answers have shown so far: ids, addresses of pages, and forms by where they are sent. */
  readonly ids: string[];
  readonly links: string[];
  readonly forms: Map<string, Form & { browser: Browser | null }>;
};

const IDS_KEPT = 200;

export async function createFixture(gateway: TestGateway, random: Random, name: string): Promise<Fixture> {
  const client = clientOf(gateway, await createShop(gateway.ctx, `Alpha-${name}`));
  const { holderId } = client.shop;
  await topUpSandbox(gateway.ctx, COMMAND_LINE, holderId, 'UGX', 5_000_000n);
  const people: Browser[] = [];
  for (const role of someOf(random, [...ROLES, 'admin'] as const, PEOPLE)) {
    const isAdmin = role === 'admin';
    const options = { admin: isAdmin, confirmed: random.chance(0.9) };
    const person = await addPerson(
      gateway,
      holderId,
      isAdmin ? 'viewer' : role,
      `${role}-${name}@alpha.example`,
      options,
    );
    people.push({ cookie: person.cookie, csrf: person.csrf, role });
  }
  const foreign = await createForeign(gateway, random, name);
  const ids = [
    await collect(client, random, '000'),
    await collect(client, random, '012'),
    await createLink(client, `Alpha-${name}`),
  ];
  return { gateway, client, token: await client.token(), people, foreign, ids, links: [], forms: new Map() };
}

async function createForeign(gateway: TestGateway, random: Random, name: string): Promise<Fixture['foreign']> {
  const business = `${FOREIGN_NAME}${name}`;
  const client = clientOf(gateway, await createShop(gateway.ctx, business));
  const email = `owner-${name}@beta.example`;
  const { holderId, clientId, id } = client.shop;
  await addMember(gateway.ctx, COMMAND_LINE, { email, name: business, holderId, role: 'owner' });
  const ids = [
    await collect(client, random, '000'),
    await collect(client, random, '012'),
    await createLink(client, business),
  ];
  return { client, ids: [...ids, String(id), String(holderId)], texts: [...ids, clientId, email] };
}

/** The number is the story's own, because each number takes a few payments in a time. The last digits decide what happens. */
async function collect(client: Client, random: Random, digits: string): Promise<string> {
  const mobile = `25677${random.int(1_000, 9_999)}${digits}`;
  const reply = await client.signed(PATHS.collect, { amount: 2500, mobile, country_id: 11, currency: 'UGX' });
  if (reply.status !== 200) throw new Error(`no collection for the story: ${JSON.stringify(reply.body)}`);
  return textOf(reply.data.ref);
}

async function createLink(client: Client, business: string): Promise<string> {
  const params = { business_name: business, country_id: 11, currency: 'UGX', reusable: true };
  return textOf((await client.signed(PATHS.createLink, params)).data.id);
}

function someOf<T>(random: Random, all: readonly T[], count: number): T[] {
  const left = [...all];
  return Array.from({ length: count }, () => left.splice(random.int(0, left.length - 1), 1)).flat();
}

/** Keeps the newest ids that an answer shows, so that later requests act on what earlier ones made. */
export function keepIds(fixture: Fixture, text: string): void {
  for (const [id] of text.matchAll(/\b(?:TX_|[a-z]{2,4}_)[0-9A-Z]{26}\b/g))
    if (!fixture.ids.includes(id)) fixture.ids.push(id);
  fixture.ids.splice(0, fixture.ids.length - IDS_KEPT);
}
