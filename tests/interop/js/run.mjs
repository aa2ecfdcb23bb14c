// Runs every scenario, one for each operation of operations.json, and says how each went.

import { readFileSync } from 'node:fs';
import { same } from './checks.mjs';
import { bases } from './peer.mjs';
import { scenarios as others } from './scenarios.mjs';
import { scenarios as ofWebhooks } from './webhooks.mjs';

const groups = JSON.parse(readFileSync(new URL('../operations.json', import.meta.url), 'utf8'));
const operations = Object.values(groups).flatMap((group) => Object.keys(group));
const scenarios = { ...others, ...ofWebhooks };
const patience = 30_000;

function report(operation, ok, detail = '', note = '') {
  console.log(JSON.stringify({ operation, ok, detail, note }));
}

async function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs every scenario with the peer that `connect(base)` makes of an agent. */
export async function run(connect) {
  same('operations', Object.keys(scenarios).sort(), operations.toSorted());
  const [peer, ofLittle] = await Promise.all(bases.map(connect)).catch((error) => {
    report('card', false, String(error));
    process.exit(0);
  });
  peer.ofLittle = ofLittle;
  for (const operation of operations) {
    if (peer.lacks[operation]) {
      report(operation, null, peer.lacks[operation]);
      continue;
    }
    try {
      report(operation, true, await within(patience, scenarios[operation](peer)), peer.notes?.[operation]);
    } catch (error) {
      report(operation, false, String(error));
    }
  }
  process.exit(0);
}
