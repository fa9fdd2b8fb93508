// Places where a crash test kills the process. Nothing happens unless the setting FAILPOINT names the place, and live mode
// rejects that setting.

let armed = '';
let left = 0;

/** `place` kills the first time it is reached, `place:7` the seventh time. */
export function armFailpoint(setting: string): void {
  const [place = '', times = '1'] = setting.split(':');
  armed = place;
  left = Number(times);
}

export function failpoint(name: string): void {
  if (armed === name && --left <= 0) process.kill(process.pid, 'SIGKILL');
}
