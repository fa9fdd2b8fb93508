// Progress of long-running work on standard error: a bar on a terminal, otherwise a line every few seconds. The progress
// bar of @clack/prompts reads the keyboard and ends the process with code 0 at Ctrl-C, also in the middle of a restore.

import type { Terminal } from './terminal.ts';

const WIDTH = 24;
const REDRAW_MS = 100;
const LINE_EVERY_MS = 5_000;

type ProgressBar = {
  show(done: number, total: number, what: string): void;
  /** Removes the bar. */
  end(): void;
};

export function createProgressBar(terminal: Terminal, title: string): ProgressBar {
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show(done, total, what) {
      const now = performance.now();
      if (now - shownAt < (terminal.interactive ? REDRAW_MS : LINE_EVERY_MS)) return;
      // Without a terminal, work that ends within the first interval prints nothing.
      const isFirst = shownAt === Number.NEGATIVE_INFINITY;
      shownAt = now;
      const share = total > 0 ? Math.min(1, done / total) : 0;
      const percent = `${Math.floor(share * 100)} %`.padStart(5);
      const line = `${title} ${percent}  ${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${what}`;
      if (terminal.interactive) {
        const full = Math.round(share * WIDTH);
        process.stderr.write(`\r\u001b[2K  [${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${line}`);
      } else if (!isFirst) terminal.say(`  ${line}`);
    },
    end() {
      if (terminal.interactive) process.stderr.write('\r\u001b[2K');
    },
  };
}
