// Parses payloads written by Latimer with the JavaScript SDKs, and serializes them again. The line protocol is that of
// ../python/parse.py, with an additional member `version` that selects the SDK. Requests of 0.3 over HTTP+JSON are
// objects with verb, path and body, and results of 0.3 use its JSON schema, except protobuf.

import * as v0_3 from './parse_0_3.mjs';
import * as v1_0 from './parse_1x.mjs';

const TIME_LIMIT = 120_000; // milliseconds, so that no process remains
const sdks = { '1.0': v1_0, 0.3: v0_3 };

for (const level of ['log', 'info', 'warn', 'error', 'debug']) console[level] = () => {};
setTimeout(() => process.exit(1), TIME_LIMIT).unref();

async function processLine(line) {
  try {
    const request = JSON.parse(line);
    const sdk = sdks[request.version];
    if (request.form === 'protobuf') return { ok: true, wire: throughProtobuf(sdk.service, request) };
    return { ok: true, wire: JSON.stringify(await sdk.read(request)) ?? 'null' };
  } catch (error) {
    return { ok: false, error: `${error}` };
  }
}

/** Converts with the functions that the SDK passes to gRPC. */
function throughProtobuf(service, { type, method, wire }) {
  const rpc = service[method[0].toLowerCase() + method.slice(1)];
  const bytes = Buffer.from(wire, 'base64');
  const written = type === 'request'
    ? rpc.requestSerialize(rpc.requestDeserialize(bytes))
    : rpc.responseSerialize(rpc.responseDeserialize(bytes));
  return written.toString('base64');
}

// `readline` is not used because it splits lines at other characters than "\n", too.
let buffer = Buffer.alloc(0);
for await (const chunk of process.stdin) {
  buffer = Buffer.concat([buffer, chunk]);
  for (let end = buffer.indexOf('\n'); end >= 0; end = buffer.indexOf('\n')) {
    const line = buffer.subarray(0, end).toString();
    buffer = buffer.subarray(end + 1);
    process.stdout.write(`${JSON.stringify(await processLine(line))}\n`);
  }
}
process.exit(0);
