// Runs the scenario of every operation in operations.json, and prints a JSON line with each result.

import { readFileSync } from 'node:fs';
import { expectEqual } from './checks.mjs';
import { baseUrls } from './peer.mjs';
import { scenarios as callScenarios } from './scenarios.mjs';
import { scenarios as webhookScenarios } from './webhooks.mjs';

const groups = JSON.parse(readFileSync(new URL('../operations.json', import.meta.url), 'utf8'));
const operations = Object.values(groups).flatMap((group) => Object.keys(group));
const scenarios = { ...callScenarios, ...webhookScenarios };
const SCENARIO_TIMEOUT_MS = 30_000;

function report(operation, ok, detail = '', note = '') {
  console.log(JSON.stringify({ operation, ok, detail, note }));
}

async function withTimeout(milliseconds, promise) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

/** Runs every scenario with the peers that `connect(baseUrl)` creates. */
export async function run(connect) {
  expectEqual('operations', Object.keys(scenarios).sort(), operations.toSorted());
  const [peer, minimal] = await Promise.all(baseUrls.map(connect)).catch((error) => {
    report('card', false, String(error));
    process.exit(0);
  });
  peer.minimal = minimal;
  for (const operation of operations) {
    if (peer.unsupported[operation]) {
      report(operation, null, peer.unsupported[operation]);
      continue;
    }
    try {
      const detail = await withTimeout(SCENARIO_TIMEOUT_MS, scenarios[operation](peer));
      report(operation, true, detail, peer.notes?.[operation]);
    } catch (error) {
      report(operation, false, String(error));
    }
  }
  process.exit(0);
}
