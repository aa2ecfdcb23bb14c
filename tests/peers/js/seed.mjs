// Makes ids and timestamps deterministic, so that recordings can be compared. Load with --import.

import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

let state = 2026;
let ticks = 0;
const start = Date.UTC(2026, 0, 1);
const replaced = new WeakMap();
const toISOString = Date.prototype.toISOString;

function random32() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state.toString(16).padStart(8, '0');
}

function randomUUID() {
  const hex = random32() + random32() + random32() + random32();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

// Only the current time is replaced: other dates keep their value.
Date.prototype.toISOString = function () {
  if (Math.abs(Date.now() - this.getTime()) > 60_000) return toISOString.call(this);
  if (!replaced.has(this)) replaced.set(this, new Date(start + ++ticks * 1234));
  return toISOString.call(replaced.get(this));
};

crypto.randomUUID = randomUUID;
Object.defineProperty(globalThis.crypto, 'randomUUID', { value: randomUUID });
syncBuiltinESMExports();
