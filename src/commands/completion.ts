// simbi completion: scripts that let the shell complete commands and options. They are written from the command table
// itself, so they cannot be stale.

import type { Command } from 'commander';
import { addCommand, CommandError, EXIT, type Terminal, toJson } from './terminal.ts';

const SHELLS = ['bash', 'zsh', 'fish'];

export type CommandRow = {
  command: string;
  summary: string;
  arguments: string[];
  options: string[];
  commands: string[];
};

export function completionCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'completion <shell>', 'print the completion script for bash, zsh or fish', [
    'source <(npx simbi completion bash)',
    'npx simbi completion zsh > ~/.zfunc/_simbi',
    'npx simbi completion fish > ~/.config/fish/completions/simbi.fish',
  ]).action((shell: string, options: { json?: boolean }) => {
    if (!SHELLS.includes(shell)) throw new CommandError(`There is a script for ${SHELLS.join(', ')}.`, EXIT.usage);
    const rows = describeCommands(program);
    if (options.json) terminal.out(toJson({ shell, commands: rows }));
    else terminal.out(shell === 'bash' ? bashScript(rows) : shell === 'zsh' ? zshScript(rows) : fishScript(rows));
  });
}

/** Every command with its words, arguments and options, in the order of the table. */
export function describeCommands(command: Command, path: string[] = []): CommandRow[] {
  const row: CommandRow = {
    command: path.join(' '),
    summary: command.description(),
    arguments: command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    ),
    options: command.options.map((option) => option.flags),
    commands: command.commands.map((child) => child.name()),
  };
  return [row, ...command.commands.flatMap((child) => describeCommands(child, [...path, child.name()]))];
}

/** The words that may follow a command: commands below it, and its long options. */
function wordsOf(row: CommandRow): string[] {
  return [...row.commands, ...row.options.flatMap((flags) => /--[\w-]+/.exec(flags)?.[0] ?? []), '--help'];
}

function bashScript(rows: CommandRow[]): string {
  const cases = rows.map((row) => `    "${row.command}") words="${wordsOf(row).join(' ')}" ;;`);
  return `_simbi() {
  local path="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) case " ${[...new Set(rows.flatMap((row) => row.commands))].join(' ')} " in *" $word "*) path="\${path:+$path }$word" ;; esac ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _simbi simbi`;
}

function zshScript(rows: CommandRow[]): string {
  return `#compdef simbi
autoload -U +X bashcompinit && bashcompinit
${bashScript(rows)}`;
}

function fishScript(rows: CommandRow[]): string {
  const quote = (text: string) => `'${text.replaceAll("'", "\\\\'")}'`;
  const lines = rows.flatMap((row) => {
    const path = row.command.split(' ').filter(Boolean);
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const none = `not __fish_seen_subcommand_from ${row.commands.join(' ')}`;
    const condition = [...seen, ...(row.commands.length > 0 ? [none] : [])].join('; and ') || 'true';
    const summaryOf = (name: string) => rows.find((each) => each.command === [...path, name].join(' '))?.summary ?? '';
    return [
      ...row.commands.map(
        (name) => `complete -c simbi -f -n ${quote(condition)} -a ${name} -d ${quote(summaryOf(name))}`,
      ),
      ...row.options.flatMap((flags) => {
        const long = /--([\w-]+)/.exec(flags)?.[1];
        return long ? [`complete -c simbi -n ${quote(condition)} -l ${long}${flags.includes('<') ? ' -r' : ''}`] : [];
      }),
    ];
  });
  return lines.join('\n');
}
