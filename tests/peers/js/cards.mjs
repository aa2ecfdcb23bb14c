// The cards of peers, with the ports at which callers find them.

import { readFileSync } from 'node:fs';

// What cards say in recordings.
const usual = { http: 19999, grpc: 19998 };

/** A card. PEER_SHOWN, if it is set, names the ports to show in place of the usual ones. */
export function readCard(name, kind) {
  let text = readFileSync(new URL(`../cards/${name}`, import.meta.url), 'utf8');
  const shown = JSON.parse(process.env.PEER_SHOWN ?? '{}');
  const prefix = kind === 'full' ? '' : `${kind}_`;
  for (const [binding, port] of Object.entries(usual)) {
    text = text.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${shown[prefix + binding] ?? port}`);
  }
  return JSON.parse(text);
}
