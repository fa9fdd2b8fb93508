// What the documents name exists: npm scripts, commands with their flags, files, headings, the picture. The same holds for
// the commands that a start prints.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { ROOT } from '../scripts/tree.ts';
import { createProgram } from '../src/cli.ts';
import { createTerminal } from '../src/commands/terminal.ts';
import { demoBlock } from '../src/demo.ts';
import type { DemoFile } from '../src/demo-file.ts';
import { anchorOf } from '../src/docs/markdown.ts';

const MAX_PICTURE_BYTES = 150_000;
const PLACES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'ARCHITECTURE.md'];
const READMES = ['examples/README.md', 'sdk/README.md'];
const markdownIn = (folder: string) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const guides = [...markdownIn('docs'), ...markdownIn('docs/merchants'), ...markdownIn('docs/rails')];
const documents = [...PLACES, ...READMES, ...guides, ...markdownIn('docs/decisions')];
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const program = await createProgram(createTerminal({}));

const DEMO: DemoFile = {
  base_url: 'http://localhost:8080',
  client_id: 'client_1',
  secret_key: 'sk_1',
  sender: 'Demo shop',
  callback_secret: 'whsec_1',
  console_url: 'http://localhost:8080/console',
  login_link: 'http://localhost:8080/console/login/otl_1',
  wallet_accounts: [1001],
  payment_link: 'http://localhost:8080/pay/pl_1',
  phone_url: 'http://localhost:8080/sandbox/phone',
};

/** The commands of a text, split at spaces: `npx simbi …` or `simbi …` to the end of the line, the pipe or the quotation. */
function commandsIn(text: string): string[][] {
  const lines = text.replaceAll(/\\\n\s*/g, ' ');
  return [...lines.matchAll(/(?:npx |`)simbi ([^\n`|;&<>#)]+)/g)].map(([, line = '']) =>
    line
      .replace(/'[^']*'|"[^"]*"/g, 'quoted')
      .trim()
      .split(/\s+/),
  );
}

/** What is wrong with a command line; null when the program would accept it. */
function errorIn(args: string[]): string | null {
  let command: Command = program;
  const rest = [...args];
  for (;;) {
    const next = command.commands.find((child) => child.name() === rest[0]);
    if (!next) break;
    command = next;
    rest.shift();
  }
  if (command === program) return `there is no command ${rest[0]}`;
  if (command.commands.length > 0 && rest[0] !== undefined && /^[a-z]/.test(rest[0]))
    return `${command.name()} has no ${rest[0]}`;
  const flags = rest.filter((arg) => /^--?[a-z]/.test(arg)).map((arg) => arg.replace(/[=.,:].*$/, ''));
  const known = [...command.options.flatMap(({ short, long }) => [short, long]), '--help', '-h'];
  const unknown = flags.filter((flag) => !known.includes(flag));
  return unknown.length > 0 ? `${command.name()} has no ${unknown.join(', ')}` : null;
}

describe('commands', () => {
  for (const document of documents)
    test(`${document} names commands and scripts that exist`, () => {
      const text = read(document);
      // The changelog also names what was renamed or removed.
      const current = document === 'CHANGELOG.md' ? text.replaceAll('`simbi ', '`') : text;
      for (const args of commandsIn(current)) assert.equal(errorIn(args), null, `npx simbi ${args.join(' ')}`);
      const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
      const named = [...text.matchAll(/npm (start|test)\b|npm run ([\w-]+)/g)].map(([, own, run]) => own ?? run ?? '');
      for (const name of named) assert.ok(scripts[name], `package.json has no script ${name}`);
    });

  test('where callbacks.md rotates a secret, it is that of callbacks', () => {
    const [, command] = /\*\*Rotate the secret\*\*[^`]*`npx simbi ([^`]*)`/.exec(read('docs/callbacks.md')) ?? [];
    assert.match(command ?? '', /^integration rotate .*--kind callback/);
  });

  test('the README names the two commands, and the first payment takes six lines', () => {
    const text = read('README.md');
    assert.match(text, /```sh\nnpm start\n```/);
    assert.match(text, /```sh\nnpm test\n```/);
    const payment = /## The first payment[\s\S]*?```sh\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    assert.equal(payment.trim().split('\n').length, 6);
  });

  test('a start prints links, keys and the first payment, and the secret only the first time', () => {
    const block = demoBlock(DEMO, { path: 'data/demo.json', secret: true });
    const commands = commandsIn(block);
    assert.ok(commands.some(([name]) => name === 'collect') && commands.some(([name]) => name === 'callbacks'));
    for (const args of commands) assert.equal(errorIn(args), null, args.join(' '));
    const payer = /--phone (\d+)/.exec(block)?.[1];
    assert.ok(block.includes(`${DEMO.phone_url}?n=${payer}`), 'the link opens the phone of the payer');
    assert.ok(block.includes(DEMO.secret_key));
    assert.ok(block.split('\n').length <= 16, 'the block is short');
    const later = demoBlock(DEMO, { path: 'data/demo.json', secret: false });
    assert.ok(!later.includes(DEMO.secret_key) && later.includes('data/demo.json'));
  });
});

describe('links', () => {
  for (const document of documents)
    test(`those of ${document} lead to a file and its heading`, () => {
      for (const [, target = ''] of read(document).matchAll(/\]\(([^)\s]+)\)/g)) {
        // Pages of a running gateway are followed by the tests of its documentation.
        if (/^[a-z]+:|^\//.test(target)) continue;
        const [path = '', heading] = target.split('#');
        const file = path === '' ? join(ROOT, document) : resolve(ROOT, dirname(document), path);
        assert.ok(existsSync(file), `${document} → ${target}`);
        if (heading === undefined) continue;
        const anchors = [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
          anchorOf(title),
        );
        assert.ok(anchors.includes(heading), `${document} → ${target}`);
      }
    });
});

describe('files', () => {
  for (const document of documents)
    test(`those that ${document} names exist`, () => {
      const named = [
        ...read(document).matchAll(/`((?:src|test|scripts|sdk|migrations|ops|docs|bin|bench)\/[\w./-]+)`/g),
      ];
      assert.deepEqual(
        named.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path))),
        [],
      );
    });
});

test('the picture is there, small, and described', () => {
  const [, description = '', path = ''] = /!\[([^\]]*)\]\(([^)]+)\)/.exec(read('README.md')) ?? [];
  assert.ok(description.length > 20);
  assert.ok(statSync(join(ROOT, path)).size <= MAX_PICTURE_BYTES);
});
