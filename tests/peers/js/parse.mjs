// Reads what Latimer writes with the JavaScript SDKs, and writes it again: the line protocol of
// ../python/parse.py, where `version` picks the SDK. Requests of 0.3 over HTTP+JSON are an object of
// verb, path and body, and all that comes back from 0.3 is as its JSON schema has it, protobuf aside.

import * as v0_3 from './parse_0_3.mjs';
import * as v1_0 from './parse_1x.mjs';

const TIME_LIMIT = 120_000; // milliseconds, so that nothing is left behind
const sdks = { '1.0': v1_0, 0.3: v0_3 };

for (const level of ['log', 'info', 'warn', 'error', 'debug']) console[level] = () => {};
setTimeout(() => process.exit(1), TIME_LIMIT).unref();

async function answer(line) {
  try {
    const ask = JSON.parse(line);
    const sdk = sdks[ask.version];
    if (ask.form === 'protobuf') return { ok: true, wire: throughProtobuf(sdk.service, ask) };
    return { ok: true, wire: JSON.stringify(await sdk.read(ask)) ?? 'null' };
  } catch (error) {
    return { ok: false, error: `${error}` };
  }
}

/** By the functions that the SDK hands to gRPC. */
function throughProtobuf(service, { type, method, wire }) {
  const rpc = service[method[0].toLowerCase() + method.slice(1)];
  const bytes = Buffer.from(wire, 'base64');
  const written = type === 'request'
    ? rpc.requestSerialize(rpc.requestDeserialize(bytes))
    : rpc.responseSerialize(rpc.responseDeserialize(bytes));
  return written.toString('base64');
}

// Not by `readline`, which takes more for the end of a line than "\n".
let rest = Buffer.alloc(0);
for await (const chunk of process.stdin) {
  rest = Buffer.concat([rest, chunk]);
  for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
    const line = rest.subarray(0, end).toString();
    rest = rest.subarray(end + 1);
    process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
  }
}
process.exit(0);
