// A request that the operator refuses ends where the mistake is found: the check throws, the route answers.

import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';

export class Refusal extends Error {
  readonly answer: SimulatorAnswer;

  constructor(status: number, body: object | string, headers?: Record<string, string>) {
    super(`refused with ${status}`);
    this.answer = headers ? { status, body, headers } : { status, body };
  }
}

/** The same route; a Refusal thrown inside becomes its answer. */
export function refusing(route: SimulatorRoute): SimulatorRoute {
  return { ...route, handle: (request: SimulatorRequest) => answerOrRefuse(() => route.handle(request)) };
}

/** What `work` answers, or the answer of the Refusal that it throws. */
export async function answerOrRefuse(work: () => SimulatorAnswer | Promise<SimulatorAnswer>): Promise<SimulatorAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
}
