// simbi phone: the test phone in the terminal. A person reads messages, dials, types the PIN; a script says what to do
// with flags.

import type { Command } from 'commander';
import { readDemoFile } from '../demo.ts';
import { runningServer } from '../open-context.ts';
import { publicUrl, readConfig } from '../platform/config.ts';
import { request } from './remote.ts';
import { addCommand, CommandError, EXIT, print, type Terminal } from './terminal.ts';

const RING_WAIT_MS = 20_000;
const NEWS_TIMEOUT_MS = 30_000;
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

export function phoneCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'phone <number>', 'the test phone: read messages, dial, type the PIN', [
    'npx simbi phone 256772123456',
    'npx simbi phone 256772123456 --pin 1234',
    'npx simbi phone 256772123456 --dial "*165#" --pin 1234',
    'npx simbi phone 256772123456 --cancel',
  ])
    .option('--dial <code>', 'dial a short code')
    .option('--pin <digits>', 'answer the prompt; any four digits approve, 0000 is wrong')
    .option('--cancel', 'refuse the prompt')
    .option('--ignore', 'put the prompt away without an answer')
    .option('--off', 'switch the phone off')
    .option('--on', 'switch the phone on')
    .addHelpText('after', '\nSandbox only. The number has its country code. Code 7 when the phone says no.')
    .action((number: string, options: PhoneOptions) => usePhone(terminal, number.replace(/[\s+().-]/g, ''), options));
}

async function usePhone(terminal: Terminal, number: string, options: PhoneOptions): Promise<void> {
  if (!/^\d{6,15}$/.test(number)) throw new CommandError('A number is digits with the country code.', EXIT.usage);
  const base = await findGateway(terminal);
  const acts =
    options.pin !== undefined ||
    options.cancel ||
    options.ignore ||
    options.dial !== undefined ||
    options.on ||
    options.off;
  if (acts) return operate(terminal, base, number, options);
  const view = await look(base, number);
  if (options.json || !terminal.interactive) {
    print(terminal, options, view, screenOf(view));
    return;
  }
  await converse(terminal, base, view);
}

async function findGateway(terminal: Terminal): Promise<string> {
  const { SIMBI_URL, DATA_DIR } = terminal.environment;
  const config = readConfig(DATA_DIR ? { DATA_DIR } : {});
  return SIMBI_URL || runningServer(config)?.url || (await readDemoFile(config))?.base_url || publicUrl(config);
}

async function look(base: string, number: string, version?: number): Promise<View> {
  const query = version === undefined ? '' : `?version=${version}`;
  return (await request(base, `/sandbox/phone/${number}${query}`, {}, NEWS_TIMEOUT_MS)).body as unknown as View;
}

async function press(base: string, number: string, action: string, fields: Record<string, string>): Promise<Result> {
  const answer = await request(base, `/sandbox/phone/${number}/${action}`, {
    method: 'POST',
    headers: { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
  return answer.body as unknown as Result;
}

/** What the flags say, in the order a hand would do it. */
async function operate(terminal: Terminal, base: string, number: string, options: PhoneOptions): Promise<void> {
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
        : { ok: false, message: 'No prompt came within 20 seconds.' },
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

/** The oldest prompt on the screen; rings are waited for a moment, because a payment takes one to arrive. */
async function waitForPrompt(terminal: Terminal, base: string, number: string): Promise<Prompt | null> {
  const until = performance.now() + RING_WAIT_MS;
  let view = await look(base, number);
  for (;;) {
    const prompt = view.prompts.findLast((each) => each.state === 'prompt');
    if (prompt) return prompt;
    const dial = view.prompts.findLast((each) => each.state === 'dial');
    if (dial) terminal.say(`  A message asks to dial ${dial.dial_code ?? ''}: add --dial "${dial.dial_code ?? ''}".`);
    if (dial || performance.now() > until) return null;
    view = await look(base, number, view.version);
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
    ...(prompts.length === 0 ? ['  Nothing on the screen.'] : []),
  ].join('\n');
}

/** A person at the terminal: shows the screen, asks, acts, until Ctrl-C or "hang up". */
async function converse(terminal: Terminal, base: string, first: View): Promise<void> {
  const prompts = await import('@clack/prompts');
  const output = process.stderr;
  for (let view = first; ; view = await look(base, view.msisdn)) {
    terminal.out(screenOf(view));
    const prompt = view.prompts.findLast((each) => each.state === 'prompt');
    const dial = view.prompts.findLast((each) => each.state === 'dial');
    const action = await prompts.select({
      message: prompt ? `${prompt.operator}: ${prompt.amount} ${prompt.currency}` : 'The phone',
      options: [
        ...(prompt
          ? [
              { value: 'pin', label: 'Type the PIN' },
              { value: 'cancel', label: 'Cancel' },
              { value: 'ignore', label: 'Put it away' },
            ]
          : []),
        ...(dial ? [{ value: 'dial', label: `Dial ${dial.dial_code ?? ''}` }] : []),
        { value: 'wait', label: 'Wait for something to happen' },
        { value: 'switch', label: view.is_on ? 'Switch off' : 'Switch on' },
        { value: 'end', label: 'Hang up' },
      ],
      output,
    });
    if (prompts.isCancel(action) || action === 'end') return;
    if (action === 'wait') {
      view = await look(base, view.msisdn, view.version);
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
