// Encrypted backups: the file shows nothing, opens with its own key only, and one that was changed, cut or written by somebody
// else is refused before anything is committed.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Decrypter, Encrypter } from 'age-encryption';
import { writeBackup } from '../src/backup/backup.ts';
import { BackupError } from '../src/backup/backup-file.ts';
import { type BackupEncryption, type BackupKeys, createIdentity, NO_KEYS } from '../src/backup/encryption.ts';
import { checkBackup, type RestoreOptions, restoreBackup } from '../src/backup/restore.ts';
import { runCommand } from '../src/cli.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createEmptyDatabase, type TestDatabase } from './database.ts';
import { createTestContext } from './harness.ts';
import { createShop } from './shop.ts';

const EMAIL = 'person@example.org';
const PASSPHRASE = 'seven wooden ladders in the rain';

const folder = mkdtempSync(join(tmpdir(), 'simbi-sealed-'));
const path = join(folder, 'sealed.backup');
const masterKey = randomBytes(32);
let ctx: Awaited<ReturnType<typeof createTestContext>>;
let target: TestDatabase;
let own: { identity: string; recipient: string };
let keys: BackupKeys;

before(async () => {
  ctx = await createTestContext();
  await createShop(ctx, 'A shop');
  // More than one chunk of 64 KiB after compression, so that chunks can be exchanged.
  await ctx.db.query(
    `insert into members (email, name, created_at) select i || $1, encode(sha256(i::text::bytea), 'hex'), now()
     from generate_series(1, 6000) i`,
    [EMAIL],
  );
  own = await createIdentity();
  keys = { identityFile: writeIdentity('own.key', own.identity), passphrase: null };
  await backUp(path, { recipients: [own.recipient] });
  target = await createEmptyDatabase();
});

after(async () => {
  await target?.drop();
  await ctx?.close();
  rmSync(folder, { recursive: true, force: true });
});

function writeIdentity(name: string, identity: string): string {
  const file = join(folder, name);
  writeFileSync(file, `# a comment\n${identity}\n`, { mode: 0o600 });
  return file;
}

const backUp = (file: string, encryption: BackupEncryption | null, key: Buffer | null = masterKey) =>
  writeBackup({
    databaseUrl: ctx.databaseUrl,
    path: file,
    version: 'test',
    mode: 'sandbox',
    madeAt: ctx.clock.now(),
    masterKey: key,
    includeMasterKey: false,
    encryption,
  });

const restore = (file: string, options: Partial<RestoreOptions> = {}) =>
  restoreBackup({ databaseUrl: target.url, path: file, masterKey, keys, ...options });

const refused = (work: Promise<unknown>, pattern: RegExp, what?: string) =>
  assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof BackupError, `${what}: ${String(error)}`);
    assert.match(error.message, pattern, what);
    return true;
  });

async function countMembers(): Promise<number> {
  const db = connectDatabase({ url: target.url, poolSize: 1 });
  try {
    const [table] = await db.query<{ present: boolean }>(`select to_regclass('members') is not null as present`);
    if (!table?.present) return 0;
    return (await db.query<{ count: number }>('select count(*)::int as count from members'))[0]?.count ?? 0;
  } finally {
    await db.close();
  }
}

/** The inner file, as any program that reads age finds it. */
async function openByHand(file: string, identity: string): Promise<Buffer> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return Buffer.from(await decrypter.decrypt(readFileSync(file)));
}

describe('the file', () => {
  test('is an age file for its owner only, and shows nothing', () => {
    const bytes = readFileSync(path);
    assert.equal(bytes.toString('latin1', 0, 22), 'age-encryption.org/v1\n');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    for (const text of [EMAIL, 'SIMBI BACKUP', 'A shop']) assert.ok(!bytes.includes(text), text);
  });

  test('has a plain backup as its content, which restores too', async () => {
    const plain = join(folder, 'plain.backup');
    writeFileSync(plain, await openByHand(path, own.identity));
    const checked = await checkBackup(plain);
    assert.equal(checked.rows.members, 6000);
    assert.deepEqual(checked.rows, (await checkBackup(path, undefined, keys)).rows);
  });

  test('opens with a second recipient, with a passphrase, and with nothing else', async () => {
    const [second, stranger] = [await createIdentity(), await createIdentity()];
    const file = join(folder, 'two.backup');
    await backUp(file, { recipients: [own.recipient, second.recipient] });
    const secondKeys = { identityFile: writeIdentity('second.key', second.identity), passphrase: null };
    assert.equal((await checkBackup(file, undefined, secondKeys)).rows.members, 6000);
    const strangerKeys = { identityFile: writeIdentity('stranger.key', stranger.identity), passphrase: null };
    await refused(checkBackup(file, undefined, strangerKeys), /encrypted to another key/);
    await refused(checkBackup(file, undefined, NO_KEYS), /is encrypted\. Give the file with its secret key/);
    const spoken = join(folder, 'spoken.backup');
    await backUp(spoken, { passphrase: PASSPHRASE });
    const spokenKeys = { identityFile: null, passphrase: PASSPHRASE };
    assert.equal((await checkBackup(spoken, undefined, spokenKeys)).rows.members, 6000);
    await refused(checkBackup(spoken, undefined, keys), /encrypted to another key/);
    await refused(checkBackup(file, undefined, spokenKeys), /another passphrase than BACKUP_PASSPHRASE, or to a key/);
  });

  test('a recipient or a key file that is none is said before anything is written', async () => {
    await refused(backUp(join(folder, 'no'), { recipients: ['age1notakey'] }), /not a public key of age/);
    const wrong = { identityFile: writeIdentity('wrong.key', 'AGE-SECRET-KEY-1NOTAKEY'), passphrase: null };
    await refused(checkBackup(path, undefined, wrong), /not a secret key of age/);
    const missing = { identityFile: join(folder, 'missing'), passphrase: null };
    await refused(checkBackup(path, undefined, missing), /cannot be read/);
  });
});

describe('security backup: a file that is not what was written', () => {
  const copy = (name: string, change: (bytes: Buffer) => Buffer) => {
    const file = join(folder, name);
    writeFileSync(file, change(readFileSync(path)));
    return file;
  };
  const flip = (bytes: Buffer, at: number) => {
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes;
  };

  test('one bit anywhere, a cut anywhere, chunks exchanged: refused, and nothing is committed', async () => {
    const size = statSync(path).size;
    const chunk = 64 * 1024 + 16;
    assert.ok(size > 3 * chunk, `${size} bytes`);
    for (const at of [30, 60, 150, 300, Math.floor(size / 2), size - 20, size - 1])
      await refused(
        restore(copy(`bit-${at}`, (bytes) => flip(bytes, at))),
        /damaged|encrypted to another key/,
        `bit ${at}`,
      );
    for (const length of [25, 200, chunk, Math.floor(size / 2), size - 16, size - 1]) {
      const file = copy(`cut-${length}`, (bytes) => bytes);
      truncateSync(file, length);
      await refused(restore(file), /damaged/, `cut to ${length}`);
    }
    const start = readFileSync(path).length - Math.floor((size - 250) / chunk) * chunk;
    const exchanged = copy('exchanged', (bytes) => {
      const first = Buffer.from(bytes.subarray(start, start + chunk));
      bytes.copyWithin(start, start + chunk, start + 2 * chunk);
      first.copy(bytes, start + chunk);
      return bytes;
    });
    await refused(restore(exchanged), /damaged/);
    await refused(restore(copy('longer', (bytes) => Buffer.concat([bytes, bytes.subarray(-chunk)]))), /damaged/);
    assert.equal(await countMembers(), 0);
  });

  test('the last chunk alone is missing, at the border of a chunk: every row is loaded, and none is kept', async () => {
    const plain = await openByHand(path, own.identity);
    const encrypter = new Encrypter();
    encrypter.addRecipient(own.recipient);
    // The content as it is, but of a whole number of chunks, so that the cut is exactly between two.
    const padded = Buffer.concat([
      plain,
      Buffer.alloc(64 * 1024 - (plain.length % (64 * 1024))),
      Buffer.alloc(64 * 1024),
    ]);
    const bytes = Buffer.from(await encrypter.encrypt(padded));
    const file = join(folder, 'border');
    writeFileSync(file, bytes.subarray(0, bytes.length - (64 * 1024 + 16)));
    await refused(restore(file), /damaged/);
    assert.equal(await countMembers(), 0);
  });

  test('somebody who knows the public key writes a file of their own: not signed with the master key', async () => {
    const forged = join(folder, 'forged');
    await backUp(forged, { recipients: [own.recipient] }, null);
    await refused(restore(forged), /not signed with this master key/);
    await backUp(forged, { recipients: [own.recipient] }, randomBytes(32));
    await refused(restore(forged), /another master key/);
    assert.equal(await countMembers(), 0);
  });

  test('a file of an older version, which did not sign, is taken when that is asked for', async () => {
    const unsigned = join(folder, 'unsigned');
    await backUp(unsigned, null, null);
    await refused(restore(unsigned), /not signed.*--allow-unsigned/);
    const other = await createEmptyDatabase();
    try {
      await restore(unsigned, { databaseUrl: other.url, allowUnsigned: true });
    } finally {
      await other.drop();
    }
  });

  test('the right file still restores into the same database', async () => {
    const restored = await restore(path);
    assert.equal(restored.rows.members, 6000);
    assert.equal(await countMembers(), 6000);
  });
});

describe('the commands', () => {
  async function run(args: string[], environment: Record<string, string>) {
    const printed = { out: '', messages: '' };
    process.exitCode = 0;
    const code = await runCommand(
      {
        environment,
        interactive: false,
        out: (text) => {
          printed.out += text;
        },
        say: (text) => {
          printed.messages += `${text}\n`;
        },
        bold: (text) => text,
        readInput: () => Promise.resolve(null),
      },
      args,
    );
    process.exitCode = 0;
    return { code, ...printed };
  }
  const live = () => ({
    MODE: 'live',
    DATABASE_URL: ctx.databaseUrl,
    MASTER_KEY: masterKey.toString('hex'),
    PUBLIC_URL: 'https://pay.example.org',
    DATA_DIR: join(folder, 'data'),
  });

  test('security backup: in live mode a backup that anybody can read is refused unless it is asked for', async () => {
    const file = join(folder, 'live.backup');
    const without = await run(['backup', file], live());
    assert.equal(without.code, 2);
    assert.match(without.messages, /BACKUP_RECIPIENTS/);
    const plain = await run(['backup', file, '--unencrypted', '--json'], live());
    assert.equal(plain.code, 0, plain.messages);
    assert.match(plain.messages, /not encrypted/);
    const sealed = await run(['backup', file, '--force', '--json'], { ...live(), BACKUP_RECIPIENTS: own.recipient });
    assert.equal(sealed.code, 0, sealed.messages);
    assert.equal((JSON.parse(sealed.out) as { encrypted: boolean }).encrypted, true);
    assert.match(readFileSync(file, 'latin1').slice(0, 21), /^age-encryption/);
  });

  test('a key for backups is made once, for its owner only, and reads its own backups', async () => {
    const file = join(folder, 'made.key');
    const made = await run(['keys', 'backup-key', file], live());
    assert.match(made.out, /^age1[a-z0-9]{58}$/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal((await run(['keys', 'backup-key', file], live())).code, 5, 'never overwritten');
    const backup = join(folder, 'by-command.backup');
    assert.equal((await run(['backup', backup, '--recipient', made.out, own.recipient], live())).code, 0);
    const checked = await run(['restore', backup, '--dry-run', '--identity-file', file, '--json'], live());
    assert.equal(checked.code, 0, checked.messages);
    const setting = { ...live(), BACKUP_IDENTITY_FILE: file };
    assert.equal((await run(['restore', backup, '--dry-run'], setting)).code, 0);
    assert.equal((await run(['restore', backup, '--dry-run'], live())).code, 1);
    const twoLogins = { ...setting, MODE: 'sandbox', MIGRATION_DATABASE_URL: ctx.databaseUrl };
    const elsewhere = await run(['restore', backup, '--dry-run', '--data-dir', join(folder, 'new')], twoLogins);
    assert.equal(elsewhere.code, 0, elsewhere.messages);
  });
});
