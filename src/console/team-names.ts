// People by their names: what they ordered is stored with their e-mail address, which is long and says less.

import { listTeam } from '../holders/members.ts';
import type { HolderRequest } from './console-request.ts';

/** The name of a person of the team; the address itself of somebody who left, or who has no name. */
export async function teamNames({ ctx, holder }: HolderRequest): Promise<(email: string) => string> {
  const team = await listTeam(ctx.db, holder.id);
  const names = new Map(team.map(({ email, name }) => [email, name]));
  return (email) => names.get(email) || email;
}
