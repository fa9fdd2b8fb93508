#!/usr/bin/env node
// The `simbi` command.
import { run } from './run.mjs';

await run(['src/cli.ts', ...process.argv.slice(2)]);
