// Model of the protocol that the scenarios use, independent of SDK and binding.
//
// A peer is a client of one SDK over one binding. It has `card`, the calls of the scenarios, `parseDelivery(delivery)`,
// which parses a webhook request as strictly as the SDK can, and `errorKinds(error)`, the errors of the specification
// that an exception of the SDK can stand for. `minimal` is a client of an agent that accepts only text and has no
// webhooks. `unsupported` has the operations that the SDK does not support over the binding, with the reason, `notes`
// the limitations of supported ones. Objects are the same for every SDK:
//   part { kind: text | bytes | url | data, value, name, mediaType }
//   message { kind: 'message', id, role, parts, task, context }
//   task { kind: 'task', id, context, state, message, artifacts: [{ id, parts }], history }, states as in 0.3
//   status { kind: 'status', task, context, state, message, final }, the last in 0.3 only
//   chunk { kind: 'chunk', task, context, artifact, append, last }; `append` is undefined if the SDK drops it
//   webhook { id, url, token, scheme, credentials }
//   delivery { headers, body }, with header names in lower case
// `supportsZeroHistory` tells whether a history length of zero differs from an unset one, `keepsFileNames` whether
// files keep their names, `supportsNull` whether data can contain null, `webhooksSendTasks` whether webhooks receive
// the task after each event, as before 1.0, instead of the event.

const [base, minimal, selectedBinding, mode] = process.argv.slice(2);
if (!['jsonrpc', 'rest', 'grpc'].includes(selectedBinding)) {
  throw new Error('usage: BASE MINIMAL jsonrpc|rest|grpc [--compat]');
}

/** Base URLs of the demo agent, and of an agent that accepts only text and has no webhooks. */
export const baseUrls = [base, minimal];

/** The binding to use, and whether a client of 1.x uses protocol version 0.3. */
export const binding = selectedBinding, compat = mode === '--compat';

/** Errors by JSON-RPC code. */
export const errorCodes = {
  [-32001]: 'TaskNotFound', [-32002]: 'TaskNotCancelable', [-32003]: 'PushNotificationNotSupported',
  [-32004]: 'UnsupportedOperation', [-32005]: 'ContentTypeNotSupported', [-32602]: 'InvalidParams',
};

/** Errors by gRPC status in 0.3, where several errors share a status. */
export const grpcErrors = {
  5: ['TaskNotFound'], 3: ['InvalidParams'],
  12: ['TaskNotCancelable', 'PushNotificationNotSupported', 'UnsupportedOperation', 'ContentTypeNotSupported'],
};

export const part = (kind, value, name = '', mediaType = '') => ({ kind, value, name, mediaType });

/** Limitations of the JavaScript SDKs with 0.3 over HTTP+JSON and gRPC. */
export function protobufNotes() {
  const append = 'the client drops `append`, so it is unknown whether a chunk appends or replaces';
  return {
    file_bytes: 'unlike other SDKs, the client takes base64 of this binding for the bytes, and it drops file names',
    file_url: 'the client drops file names',
    ...Object.fromEntries(['stream_chunks', 'stream_burst', 'stream_left', 'subscribe', 'push_stream'].map(
      (operation) => [operation, append])),
  };
}
