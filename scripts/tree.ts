// The tree of ARCHITECTURE.md and the files on the disk. Lines that begin with a dot name the files of the folder
// above them; run as a script this writes them anew (sentences about folders are written by people).

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');
const DOCUMENT = join(ROOT, 'ARCHITECTURE.md');
const WIDTH = 112;
const FOLDER = /^( *)([\w.-]+)\/(?: |$)/;
const NAMES = /^ *· (.*)$/;

/** Files whose names the tree does not list: tests sit beside what they test, and data speaks for itself. */
const isListed = (name: string) => /\.(ts|md|sh)$/.test(name) && !name.endsWith('.test.ts');
/** Folders of code are listed file by file; the others are described in words only. */
export const isCode = (path: string) => /^(src|sdk|scripts|test|simulators)\b/.test(path);
const shownName = (name: string) => name.replace(/\.ts$/, '');

export type TreeFolder = { path: string; indent: number; names: string[] };

/** The folders that the tree describes, with the names it gives them. */
export function readTree(text = readFileSync(DOCUMENT, 'utf8')): TreeFolder[] {
  const folders: TreeFolder[] = [];
  for (const line of treeLines(text)) {
    const folder = FOLDER.exec(line);
    if (folder) folders.push({ path: pathOf(folders, folder), indent: folder[1]?.length ?? 0, names: [] });
    else folders.at(-1)?.names.push(...(NAMES.exec(line)?.[1]?.split(' ') ?? []));
  }
  return folders;
}

function pathOf(before: TreeFolder[], match: RegExpExecArray): string {
  const indent = match[1]?.length ?? 0;
  const parent = before.findLast((folder) => folder.indent < indent);
  return parent ? `${parent.path}/${match[2]}` : (match[2] ?? '');
}

function treeLines(text: string): string[] {
  return (/```tree\n([\s\S]*?)```/.exec(text)?.[1] ?? '').split('\n');
}

/** Names of the files of a folder as the tree should show them, in order. */
export function filesOf(path: string): string[] {
  if (!existsSync(join(ROOT, path))) return [];
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isFile() && isListed(entry.name))
    .map((entry) => shownName(entry.name))
    .sort();
}

function writeNames(text: string): string {
  const folders = readTree(text);
  let next = 0;
  const lines = treeLines(text)
    .filter((line) => !NAMES.test(line))
    .flatMap((line) => {
      if (!FOLDER.test(line)) return [line];
      const folder = folders[next++];
      return folder && isCode(folder.path) ? [line, ...wrap(filesOf(folder.path), folder.indent + 2)] : [line];
    });
  return text.replace(/```tree\n[\s\S]*?```/, () => `\`\`\`tree\n${lines.join('\n')}\`\`\``);
}

function wrap(names: string[], indent: number): string[] {
  const lines: string[] = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + name.length < WIDTH) lines[lines.length - 1] = `${last} ${name}`;
    else lines.push(`${' '.repeat(indent)}· ${name}`);
  }
  return lines;
}

if (import.meta.main) writeFileSync(DOCUMENT, writeNames(readFileSync(DOCUMENT, 'utf8')));
