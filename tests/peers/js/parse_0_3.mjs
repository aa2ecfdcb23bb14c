// Parses with the clients and servers of @a2a-js/sdk 0.3, which has no separate codecs for
// JSON-RPC.

import express from 'express';
import { DefaultAgentCardResolver, JsonRpcTransport, RestTransport } from 'a2a-0.3/client';
import { JsonRpcTransportHandler } from 'a2a-0.3/server';
import { restHandler, UserBuilder } from 'a2a-0.3/server/express';
import { A2AService } from 'a2a-0.3/server/grpc';

export { A2AService as service };

/** Method of the client by JSON-RPC method and by RPC. */
const clientMethods = {
  'message/send': 'sendMessage',
  'message/stream': 'sendMessageStream',
  'tasks/get': 'getTask',
  'tasks/cancel': 'cancelTask',
  'tasks/resubscribe': 'resubscribeTask',
  'tasks/pushNotificationConfig/set': 'setTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/get': 'getTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/list': 'listTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/delete': 'deleteTaskPushNotificationConfig',
  'agent/getAuthenticatedExtendedCard': 'getExtendedAgentCard',
  SendMessage: 'sendMessage',
  SendStreamingMessage: 'sendMessageStream',
  GetTask: 'getTask',
  CancelTask: 'cancelTask',
  TaskSubscription: 'resubscribeTask',
  CreateTaskPushNotificationConfig: 'setTaskPushNotificationConfig',
  GetTaskPushNotificationConfig: 'getTaskPushNotificationConfig',
  ListTaskPushNotificationConfig: 'listTaskPushNotificationConfig',
  DeleteTaskPushNotificationConfig: 'deleteTaskPushNotificationConfig',
  GetAgentCard: 'getExtendedAgentCard',
};

export async function read({ form, type, method, wire }) {
  if (type === 'request') return form === 'json' ? serveRpc(method, wire) : serveRest(JSON.parse(wire));
  if (type === 'card') return new DefaultAgentCardResolver({ fetchImpl: fakeFetch(() => wire) }).resolve(BASE_URL);
  return form === 'json' ? callRpc(method, type, wire) : callRest(method, wire);
}

const BASE_URL = 'http://127.0.0.1';

/** Parameters that are valid for every operation. */
const someParams = {
  id: 't', taskId: 't', pushNotificationConfigId: 'c', pushNotificationConfig: { url: BASE_URL },
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
};

/** Replaces `fetch`: responds with the result of `body`, as a stream if the request accepts one. */
function fakeFetch(body) {
  return async (url, request) => {
    const streams = request?.headers?.Accept === 'text/event-stream';
    const text = body(request);
    return new Response(streams ? `data: ${text}\n\n` : text, {
      headers: { 'Content-Type': streams ? 'text/event-stream' : 'application/json' },
    });
  };
}

async function callRpc(method, type, wire) {
  const member = type === 'error' ? 'error' : 'result';
  const envelope = (request) => `{"jsonrpc":"2.0","id":${JSON.parse(request.body).id},"${member}":${wire}}`;
  const client = new JsonRpcTransport({ endpoint: BASE_URL, fetchImpl: fakeFetch(envelope) });
  if (type === 'error') return client.getTask(someParams).catch((error) => error.errorResponse.error);
  return call(client, method);
}

function callRest(method, wire) {
  return call(new RestTransport({ endpoint: BASE_URL, fetchImpl: fakeFetch(() => wire) }), method);
}

async function call(client, method) {
  const name = clientMethods[method];
  if (name === 'getExtendedAgentCard') return client[name]();
  const result = client[name](someParams);
  if (!result[Symbol.asyncIterator]) return result;
  for await (const event of result) return event;
  throw new Error('the stream is empty');
}

/** Replaces the request handler: stores the parameters of the last request, and fails. */
let params;
const recorder = new Proxy({}, {
  get: (_, name) => {
    if (name === 'getAgentCard') return async () => ({ capabilities: { streaming: true, pushNotifications: true } });
    return (received) => {
      params = name === 'getAuthenticatedExtendedAgentCard' ? {} : received;
      throw new Error('the parameters are recorded');
    };
  },
});

async function serveRpc(method, wire) {
  params = undefined;
  const handler = new JsonRpcTransportHandler(recorder);
  const response = await handler.handle(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${wire}}`);
  return params ?? Promise.reject(new Error(JSON.stringify(response)));
}

let server;

async function serveRest({ verb, path, body }) {
  server ??= await start();
  params = undefined;
  const headers = { 'Content-Type': 'application/json', Connection: 'close' };
  const url = `${BASE_URL}:${server.address().port}${path}`;
  const response = await fetch(url, { method: verb, headers, body: body ?? undefined });
  const text = await response.text();
  return params ?? Promise.reject(new Error(`${response.status} ${text}`));
}

function start() {
  const app = express();
  app.use(restHandler({ requestHandler: recorder, userBuilder: UserBuilder.noAuthentication }));
  return new Promise((resolve) => {
    const listener = app.listen(0, '127.0.0.1', () => resolve(listener));
  });
}
