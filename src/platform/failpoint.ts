// Places where a crash test ends the process at once, as a power cut would. Nothing happens unless the
// setting FAILPOINT names the place, and live mode refuses that setting.

let armed = '';

export function armFailpoint(name: string): void {
  armed = name;
}

export function failpoint(name: string): void {
  if (armed === name) process.kill(process.pid, 'SIGKILL');
}
