// node bench/chart.ts FILE [--before 0] [--out docs/images/performance.svg]: draws two runs of a file of `npm run bench -- --results`
// beside each other, the last against the first (or another line of the file): how many times better each measure became.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { scaleLog } from 'd3-scale';
import { type Measure, type RunResult, readResults, shown } from './measures.ts';

const WIDTH = 960;
const NAMES = 420;
const VALUES = 190;
const ROW = 26;
const TOP = 74;
const BOTTOM = 34;
const BAR = 12;
const NAME_LETTERS = 60;
/** Beside these the rest is measured: they say something about the machine, not about the gateway. */
const BASELINE = /^(H|P1|P2):/;

/** The colours of src/ui/tokens.css. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1c2420; }
  .head { font-weight: 600; font-size: 15px; } .sub, .tick { fill: #636d67; font-size: 12px; }
  .name { text-anchor: end; } .tick { text-anchor: middle; } .value { fill: #4d5852; font-variant-numeric: tabular-nums; }
  .ground { fill: #fff; } .grid { stroke: #e5e2db; } .one { stroke: #857f72; } .better { fill: #0f6b5c; } .worse { fill: #b42318; }
  @media (prefers-color-scheme: dark) {
    text { fill: #eef2ef; } .sub, .tick { fill: #95a099; } .value { fill: #b4beb7; }
    .ground { fill: #181d1a; } .grid { stroke: #29312c; } .one { stroke: #77837b; } .better { fill: #4fc0ab; } .worse { fill: #f49b93; }
  }`;

type Change = { name: string; before: string; after: string; factor: number };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string', default: '0' },
    out: { type: 'string', default: 'docs/images/performance.svg' },
  },
});
const [file] = positionals;
if (!file) throw new Error('Name a file that was written with npm run bench -- --results FILE.');
const runs = readResults(file);
const [before, after] = [runs[Number(values.before)], runs.at(-1)];
if (!before || !after || before === after) throw new Error(`${file} has no two runs to compare.`);
const changes = compare(before, after);
if (changes.length === 0) throw new Error('The two runs have no measure in common.');
writeFileSync(values.out, draw(before, after, changes));
process.stdout.write(`${values.out}: ${changes.length} measures\n`);

function compare(first: RunResult, last: RunResult): Change[] {
  const earlier = new Map(first.measures.map((measure) => [measure.name, measure]));
  return last.measures.flatMap((measure) => {
    const old = earlier.get(measure.name);
    if (!old?.value || !measure.value || old.value < 0 || measure.value < 0 || BASELINE.test(measure.name)) return [];
    const ratio = measure.value / old.value;
    const factor = isLessBetter(measure) ? 1 / ratio : ratio;
    return [{ name: measure.name, before: shown(old), after: shown(measure), factor }];
  });
}

/** Time, memory and what a payment costs; rates and ratios are better when they are higher. */
function isLessBetter({ name, unit }: Measure): boolean {
  return unit !== '/s' && (unit !== '' || /p50 ÷|commits|statements|grew|descriptors/.test(name));
}

function draw(first: RunResult, last: RunResult, list: readonly Change[]): string {
  const height = TOP + list.length * ROW + BOTTOM;
  const most = Math.max(2, ...list.map(({ factor }) => Math.max(factor, 1 / factor))) * 1.1;
  const x = scaleLog([1 / most, most], [NAMES, WIDTH - VALUES]).clamp(true);
  const ticks = [0.1, 0.25, 0.5, 1, 2, 4, 10].filter((tick) => tick >= 1 / most && tick <= most);
  const bottom = height - BOTTOM;
  const grid = ticks.map(
    (tick) =>
      `<line class="${tick === 1 ? 'one' : 'grid'}" x1="${at(tick)}" x2="${at(tick)}" y1="${TOP - 8}" y2="${bottom}"/>` +
      `<text class="tick" x="${at(tick)}" y="${bottom + 18}">× ${tick}</text>`,
  );
  const rows = list.map((change, index) => drawRow(change, TOP + index * ROW));
  function at(factor: number): string {
    return x(factor).toFixed(1);
  }
  function drawRow({ name, factor, ...value }: Change, y: number): string {
    const [from, to] = [x(1), x(factor)];
    const middle = y + ROW / 2;
    return (
      `<text class="name" x="${NAMES - 14}" y="${middle + 4}">${escapeText(shorten(name))}</text>` +
      `<rect class="${factor >= 1 ? 'better' : 'worse'}" x="${Math.min(from, to).toFixed(1)}" y="${middle - BAR / 2}" ` +
      `width="${Math.max(1, Math.abs(to - from)).toFixed(1)}" height="${BAR}" rx="2"/>` +
      `<text class="value" x="${WIDTH - VALUES + 14}" y="${middle + 4}">${escapeText(value.before)} → ${escapeText(value.after)}</text>`
    );
  }
  const { cpu = '', cores = '' } = last.machine;
  const size = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-labelledby="title">
<title id="title">How many times better each measure became from ${escapeText(first.commit)} to ${escapeText(last.commit)}</title>
<style>${STYLE}</style>
<rect class="ground" width="${WIDTH}" height="${height}" rx="10"/>
<text class="head" x="20" y="30">${escapeText(first.commit)} → ${escapeText(last.commit)}: how many times better</text>
<text class="sub" x="20" y="50">${escapeText(`${cpu}, ${cores} cores, ${first.at.slice(0, 10)} and ${last.at.slice(0, 10)}`)}</text>
${[...grid, ...rows].join('\n')}
</svg>
`;
}

function shorten(name: string): string {
  return name.length > NAME_LETTERS ? `${name.slice(0, NAME_LETTERS - 1)}…` : name;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
