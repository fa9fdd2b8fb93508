// Answers of an operator that say nothing about the payment, given on demand after the request was processed.

import type { SimulatorAction, SimulatorAnswer, SimulatorRoute } from './frame.ts';
import { answerOrRefuse } from './refusal.ts';

type OddAnswer = { operation: string; answer: string };

export interface OddAnswers {
  /** The same route; it answers oddly when that was asked for. A Refusal thrown inside becomes its answer. */
  wrap(route: SimulatorRoute): SimulatorRoute;
  /** The action `odd_answer` {"operation", "answer"}: the next such request is processed and answered with this one. */
  action: SimulatorAction;
}

export function createOddAnswers(known: Readonly<Record<string, SimulatorAnswer>>): OddAnswers {
  const asked: OddAnswer[] = [];
  return {
    wrap: (route) => ({
      ...route,
      async handle(request) {
        const answer = await answerOrRefuse(() => route.handle(request));
        const index = asked.findIndex(({ operation }) => operation === route.operation);
        const [odd] = index < 0 ? [] : asked.splice(index, 1);
        return known[odd?.answer ?? ''] ?? answer;
      },
    }),
    action: (body) => {
      if (!(String(body.answer) in known)) return { status: 400, body: { known: Object.keys(known) } };
      asked.push(body as OddAnswer);
      return { status: 200, body: { done: true } };
    },
  };
}
