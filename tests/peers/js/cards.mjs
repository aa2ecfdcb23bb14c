// Agent cards of the peers, with the ports that callers use.

import { readFileSync } from 'node:fs';

// Ports in the cards of recordings.
const recordedPorts = { http: 19999, grpc: 19998 };

/** Reads a card. PEER_CARD_PORTS, if set, contains the ports to write instead of the recorded ones. */
export function readCard(name, kind) {
  let text = readFileSync(new URL(`../cards/${name}`, import.meta.url), 'utf8');
  const ports = JSON.parse(process.env.PEER_CARD_PORTS ?? '{}');
  const prefix = kind === 'full' ? '' : `${kind}_`;
  for (const [binding, port] of Object.entries(recordedPorts)) {
    text = text.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${ports[prefix + binding] ?? port}`);
  }
  return JSON.parse(text);
}
