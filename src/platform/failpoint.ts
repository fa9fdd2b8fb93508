// Places where a crash test kills the process. Nothing happens unless the setting FAILPOINT names the place, and live mode
// rejects that setting.

let armed = '';
let left = 0;

/** `place` kills the first time it is reached, `place:7` the seventh time, `place/refund` only where a refund passes. */
export function armFailpoint(setting: string): void {
  const [place = '', times = '1'] = setting.split(':');
  armed = place;
  left = Number(times);
}

/** `subjects` say what passes here: directions of transactions. */
export function failpoint(name: string, ...subjects: string[]): void {
  if (armed === '') return;
  const reached = armed === name || subjects.some((subject) => armed === `${name}/${subject}`);
  if (reached && --left <= 0) process.kill(process.pid, 'SIGKILL');
}
