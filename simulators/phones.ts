// The phones of the payers: prompts that wait for a decision. Some numbers decide by their last three digits, as those of the
// sandbox do; every other number approves by itself, or waits for a person when the simulator runs with `payers: 'manual'`.

export type Decision = 'approve' | 'cancel' | 'wrong_pin' | 'no_money' | 'not_found' | 'limit_reached' | 'ignore';

const BY_LAST_DIGITS: Readonly<Record<string, Decision>> = {
  '000': 'approve',
  '001': 'no_money',
  '002': 'wrong_pin',
  '003': 'not_found',
  '004': 'limit_reached',
  '005': 'ignore',
  '011': 'cancel',
};

/** What the number's ending decides; null for numbers that decide nothing by themselves. */
export function decisionOf(msisdn: string): Decision | null {
  return BY_LAST_DIGITS[msisdn.slice(-3)] ?? null;
}

export type Prompt = {
  id: string;
  msisdn: string;
  /** What the screen says. */
  text: string;
  /** Decimal text, for people. */
  amount: string;
  currency: string;
  /** `redirect`: the payer opened a page of the operator. */
  kind: 'pin' | 'dial' | 'redirect' | 'code';
  openedAt: string;
};

type OpenPrompt = { prompt: Prompt; decided: (decision: Decision) => void };

export interface Phones {
  /** Shows a prompt. `decided` is called once, now or later, unless the payer never answers. */
  ring(prompt: Omit<Prompt, 'id' | 'openedAt'>, decided: (decision: Decision) => void): Prompt;
  /** Ends a prompt that nobody answered in time. */
  close(id: string): void;
  open(): Prompt[];
  /** False when there is no such open prompt. */
  decide(id: string, decision: Decision): boolean;
}

export type PhonesOptions = { payers: 'manual' | 'automatic'; automaticAfterMs: number; now: () => number };

export function createPhones(
  { payers, automaticAfterMs, now }: PhonesOptions,
  after: (ms: number, work: () => void) => void,
): Phones {
  const open = new Map<string, OpenPrompt>();
  let count = 0;

  function decide(id: string, decision: Decision): boolean {
    const found = open.get(id);
    if (!found) return false;
    open.delete(id);
    found.decided(decision);
    return true;
  }

  return {
    ring(prompt, decided) {
      count++;
      const rung: Prompt = { ...prompt, id: `prompt-${count}`, openedAt: new Date(now()).toISOString() };
      open.set(rung.id, { prompt: rung, decided });
      const decision = decisionOf(prompt.msisdn) ?? (payers === 'automatic' ? 'approve' : null);
      if (decision !== null && decision !== 'ignore') after(automaticAfterMs, () => decide(rung.id, decision));
      return rung;
    },
    close: (id) => void open.delete(id),
    open: () => Array.from(open.values(), ({ prompt }) => prompt),
    decide,
  };
}
