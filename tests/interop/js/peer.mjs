// The protocol as the scenarios see it, whatever SDK and wire it came over.
//
// A peer is a client of one SDK over one binding. It has `card`, the calls that scenarios make, `heard(delivery)`: what
// a webhook was sent, read as strictly as the SDK can, and `meanings(error)`: what an exception of the SDK can mean, in
// the words of the specification. `ofLittle` is the same client of an agent that reads nothing but text, and has no
// webhooks. `lacks` names what the SDK cannot do over the binding and why, `notes` what holds with a reservation.
// Objects look the same whatever SDK they came from:
//   part { kind: text | bytes | url | data, value, name, mediaType }
//   message { kind: 'message', id, role, parts, task, context }
//   task { kind: 'task', id, context, state, message, artifacts: [{ id, parts }], history }, states as in 0.3
//   status { kind: 'status', task, context, state, message, final }, the last in 0.3 only
//   chunk { kind: 'chunk', task, context, artifact, append, last }; an SDK that drops `append` leaves it undefined
//   webhook { id, url, token, scheme, credentials }
//   delivery { headers, body }, names of headers in lower case
// `asksForNoHistory` says whether a history of length zero can be told from one of any length, `namesFiles` whether
// files travel with their names, `sendsNull` whether null can stand inside data, `hearsOfTasks` whether webhooks are
// sent the task as it is after each event, as before 1.0, and not the event.

const [base, little, spoken, mode] = process.argv.slice(2);
if (!['jsonrpc', 'rest', 'grpc'].includes(spoken)) throw new Error('usage: BASE LITTLE jsonrpc|rest|grpc [--compat]');

/** Where the demo agent is, and one that reads nothing but text, and has no webhooks. */
export const bases = [base, little];

/** The binding to call agents over, and whether a client of 1.x shall speak 0.3. */
export const binding = spoken, compat = mode === '--compat';

/** What codes of JSON-RPC mean. */
export const codes = {
  [-32001]: 'TaskNotFound', [-32002]: 'TaskNotCancelable', [-32003]: 'PushNotificationNotSupported',
  [-32004]: 'UnsupportedOperation', [-32005]: 'ContentTypeNotSupported', [-32602]: 'InvalidParams',
};

/** What 0.3 says over gRPC with a bare status; several errors share one. */
export const statuses = {
  5: ['TaskNotFound'], 3: ['InvalidParams'],
  12: ['TaskNotCancelable', 'PushNotificationNotSupported', 'UnsupportedOperation', 'ContentTypeNotSupported'],
};

export const part = (kind, value, name = '', mediaType = '') => ({ kind, value, name, mediaType });

/** What the SDKs for JavaScript make of 0.3 over HTTP+JSON and gRPC. */
export function reservations() {
  const append = 'the client drops `append`, so a chunk does not show whether it appends or replaces';
  return {
    file_bytes: 'the client treats base64 in these formats as bytes, unlike the other SDKs, and drops file names',
    file_url: 'the client drops file names',
    ...Object.fromEntries(['stream_chunks', 'stream_burst', 'stream_left', 'subscribe', 'push_stream'].map(
      (operation) => [operation, append])),
  };
}
