// People by their names: what they ordered is stored with their e-mail address, which is long and says less.

import { COMMAND_LINE } from '../holders/audit.ts';
import { listTeam } from '../holders/members.ts';
import { BEFORE_RESTORE } from '../payments/next-job.ts';
import type { HolderRequest } from './console-request.ts';

/** The name of who was recorded: a person of the team, or what is none. The record itself of who left or has no name. */
export async function teamNames({ ctx, holder, t }: HolderRequest): Promise<(recorded: string) => string> {
  const team = await listTeam(ctx.db, holder.id);
  const names = new Map([
    [COMMAND_LINE.name, t.nobodyOfTheTeam.commandLine],
    [BEFORE_RESTORE, t.nobodyOfTheTeam.beforeRestore],
    ...team.map(({ email, name }) => [email, name] as const),
  ]);
  return (recorded) => names.get(recorded) || recorded;
}
