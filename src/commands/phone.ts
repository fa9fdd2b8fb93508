// simbi phone: the test phone of the sandbox in the terminal, interactive or controlled by options.

import type { Command } from 'commander';
import { findGateway, request } from './remote.ts';
import { CommandError, EXIT, print, type Terminal, withExamples } from './terminal.ts';

const RING_WAIT_MS = 20_000;
const CHANGE_TIMEOUT_MS = 30_000;
const MESSAGES_SHOWN = 5;

type Prompt = {
  id: string;
  operator: string;
  amount: string;
  currency: string;
  text: string;
  state: string;
  dial_code: string | null;
};
type View = {
  msisdn: string;
  is_on: boolean;
  version: number;
  messages: { sender: string; text: string; at?: string }[];
  prompts: Prompt[];
};
type Result = { ok: boolean; message: string };
type PhoneOptions = {
  json?: boolean;
  pin?: string;
  cancel?: boolean;
  ignore?: boolean;
  dial?: string;
  on?: boolean;
  off?: boolean;
};

export function phoneCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi phone 256772123456',
    'npx simbi phone 256772123456 --pin 1234',
    'npx simbi phone 256772123456 --dial "*165#" --pin 1234',
    'npx simbi phone 256772123456 --cancel',
  ])
    .option('--dial <code>', 'dial a short code')
    .option('--pin <digits>', 'enter the PIN; any four digits approve, 0000 is a wrong PIN')
    .option('--cancel', 'reject the prompt')
    .option('--ignore', 'close the prompt without an answer')
    .option('--off', 'switch the phone off')
    .option('--on', 'switch the phone on')
    .addHelpText('after', '\nSandbox only. The number includes the country code. Exit code 7 if the action fails.')
    .action((number: string, options: PhoneOptions) => usePhone(terminal, number.replace(/[\s+().-]/g, ''), options));
}

async function usePhone(terminal: Terminal, number: string, options: PhoneOptions): Promise<void> {
  if (!/^\d{6,15}$/.test(number))
    throw new CommandError('The number must be digits with the country code, for example 256772123456.', EXIT.usage);
  const base = await findGateway(terminal);
  const acts =
    options.pin !== undefined ||
    options.cancel ||
    options.ignore ||
    options.dial !== undefined ||
    options.on ||
    options.off;
  if (acts) return applyOptions(terminal, base, number, options);
  const view = await readPhone(base, number);
  if (options.json || !terminal.interactive) {
    print(terminal, options, view, screenOf(view));
    return;
  }
  await useInteractively(terminal, base, view);
}

async function readPhone(base: string, number: string, version?: number): Promise<View> {
  const query = version === undefined ? '' : `?version=${version}`;
  return (await request(base, `/sandbox/phone/${number}${query}`, {}, CHANGE_TIMEOUT_MS)).body as unknown as View;
}

async function press(base: string, number: string, action: string, fields: Record<string, string>): Promise<Result> {
  const answer = await request(base, `/sandbox/phone/${number}/${action}`, {
    method: 'POST',
    headers: { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
  return answer.body as unknown as Result;
}

/** Applies the options in the order in which a person would: power, dial, answer. */
async function applyOptions(terminal: Terminal, base: string, number: string, options: PhoneOptions): Promise<void> {
  const results: Result[] = [];
  const good = () => results.every((result) => result.ok);
  if (options.on || options.off) results.push(await press(base, number, 'switch', { on: options.on ? '1' : '0' }));
  if (options.dial !== undefined && good()) results.push(await press(base, number, 'dial', { code: options.dial }));
  const answer = options.pin !== undefined ? 'answer' : options.cancel ? 'cancel' : options.ignore ? 'ignore' : null;
  if (answer && good()) {
    const prompt = await waitForPrompt(terminal, base, number);
    results.push(
      prompt
        ? await press(base, number, answer, {
            prompt: prompt.id,
            ...(options.pin === undefined ? {} : { pin: options.pin }),
          })
        : { ok: false, message: 'No prompt arrived within 20 seconds.' },
    );
  }
  print(
    terminal,
    options,
    { ok: good(), messages: results.map((result) => result.message) },
    results.map((result) => result.message).join('\n'),
  );
  if (!good()) process.exitCode = EXIT.paymentFailed;
}

/** The oldest prompt on the screen. Waits for one, because a payment takes a moment to arrive. */
async function waitForPrompt(terminal: Terminal, base: string, number: string): Promise<Prompt | null> {
  const until = performance.now() + RING_WAIT_MS;
  let view = await readPhone(base, number);
  for (;;) {
    const prompt = view.prompts.findLast((each) => each.state === 'prompt');
    if (prompt) return prompt;
    const dial = view.prompts.findLast((each) => each.state === 'dial');
    if (dial) terminal.say(`  An SMS asks the payer to dial a code. Add --dial "${dial.dial_code ?? ''}".`);
    if (dial || performance.now() > until) return null;
    view = await readPhone(base, number, view.version);
  }
}

function screenOf(view: View): string {
  const prompts = view.prompts.filter((prompt) => prompt.state === 'prompt' || prompt.state === 'dial');
  return [
    `${view.msisdn}  ${view.is_on ? 'on' : 'off'}`,
    ...view.messages.slice(0, MESSAGES_SHOWN).map((message) => `  SMS ${message.sender}: ${message.text}`),
    ...prompts.map(
      (prompt) =>
        `  > ${prompt.text}${prompt.dial_code && prompt.state === 'dial' ? ` (dial ${prompt.dial_code})` : ''}`,
    ),
    ...(prompts.length === 0 ? ['  No prompt on the screen.'] : []),
  ].join('\n');
}

/** Shows the screen and asks what to do, until Ctrl-C or "Quit". */
async function useInteractively(terminal: Terminal, base: string, first: View): Promise<void> {
  const prompts = await import('@clack/prompts');
  const output = process.stderr;
  for (let view = first; ; view = await readPhone(base, view.msisdn)) {
    terminal.out(screenOf(view));
    const prompt = view.prompts.findLast((each) => each.state === 'prompt');
    const dial = view.prompts.findLast((each) => each.state === 'dial');
    const action = await prompts.select({
      message: prompt ? `${prompt.operator}: ${prompt.amount} ${prompt.currency}` : 'Test phone',
      options: [
        ...(prompt
          ? [
              { value: 'pin', label: 'Enter the PIN' },
              { value: 'cancel', label: 'Cancel' },
              { value: 'ignore', label: 'Ignore' },
            ]
          : []),
        ...(dial ? [{ value: 'dial', label: `Dial ${dial.dial_code ?? ''}` }] : []),
        { value: 'wait', label: 'Wait for a message or prompt' },
        { value: 'switch', label: view.is_on ? 'Switch off' : 'Switch on' },
        { value: 'end', label: 'Quit' },
      ],
      output,
    });
    if (prompts.isCancel(action) || action === 'end') return;
    if (action === 'wait') {
      view = await readPhone(base, view.msisdn, view.version);
      continue;
    }
    const pin =
      action === 'pin' ? await prompts.password({ message: 'PIN (any four digits; 0000 is wrong)', output }) : '';
    if (prompts.isCancel(pin)) return;
    const fields = {
      prompt: prompt?.id ?? '',
      pin: pin ?? '',
      code: dial?.dial_code ?? '',
      on: view.is_on ? '0' : '1',
    };
    const result = await press(base, view.msisdn, action === 'pin' ? 'answer' : action, fields);
    terminal.say(`  ${result.message}`);
  }
}
