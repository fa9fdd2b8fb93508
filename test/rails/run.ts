// The whole matrix: every rail × its simulator × every fault and every renamed field × every direction. `npm run rails`, or in
// pieces: names of operators (`npm run rails -- pawapay daraja`), --faults (no renamed fields), --only=<part of a case's name>,
// --few (twelve cases of each kind), --all (prints how each ended). `npm test` tries a sample.

import {
  type ContractCase,
  describeCase,
  faultCases,
  problemsAtEnd,
  renamingCases,
  sampleOf,
  tryCase,
} from './contract.ts';
import { type OperatorGateway, openOperatorGateway } from './operator-gateway.ts';
import { OPERATORS, type OperatorUnderTest } from './operators.ts';

const [wanted, onlyNames] = [
  process.argv.slice(2).filter((arg) => !arg.startsWith('--')),
  process.argv.find((arg) => arg.startsWith('--only='))?.slice(7),
];
/** With --few. */
const FEW = 12;
let bad = 0;

function report(operator: OperatorUnderTest, each: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  bad++;
  console.log(`${operator.name}, ${each}\n  ${problems.join('\n  ')}`);
}

async function tryAll(opened: OperatorGateway, cases: readonly ContractCase[]): Promise<string[]> {
  const ends: string[] = [];
  for (const each of cases.filter((one) => !onlyNames || describeCase(one).includes(onlyNames))) {
    const result = await tryCase(opened, each).catch((error: unknown) => ({
      status: 'none',
      problems: [String(error)],
    }));
    if (process.argv.includes('--all')) console.log(opened.operator.name, describeCase(each), '->', result.status);
    report(opened.operator, describeCase(each), result.problems);
    if (result.status !== 'success') ends.push(describeCase(each));
  }
  return ends;
}

for (const operator of OPERATORS) {
  if (wanted.length > 0 && !wanted.includes(operator.name)) continue;
  const started = performance.now();
  const opened = await openOperatorGateway(operator);
  try {
    const cases = process.argv.includes('--few') ? sampleOf(faultCases(opened), FEW, 1) : faultCases(opened);
    const unpaid = await tryAll(opened, cases);
    const renaming = process.argv.includes('--faults')
      ? []
      : process.argv.includes('--few')
        ? sampleOf(renamingCases(opened), FEW, 1)
        : renamingCases(opened);
    const essential = await tryAll(opened, renaming);
    report(operator, 'in the end', await problemsAtEnd(opened).catch((error: unknown) => [String(error)]));
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.log(
      `${operator.name}: ${cases.length + renaming.length} payments in ${seconds} s; ${unpaid.length} did not succeed with a fault, ` +
        `${essential.length} without a field`,
    );
  } finally {
    await opened.close();
  }
}
process.exitCode = bad === 0 ? 0 : 1;
