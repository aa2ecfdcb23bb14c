// Reads with the clients and servers of @a2a-js/sdk 0.3, which has no codecs of its own for JSON-RPC.

import express from 'express';
import { DefaultAgentCardResolver, JsonRpcTransport, RestTransport } from 'a2a-0.3/client';
import { JsonRpcTransportHandler } from 'a2a-0.3/server';
import { restHandler, UserBuilder } from 'a2a-0.3/server/express';
import { A2AService } from 'a2a-0.3/server/grpc';

export { A2AService as service };

/** The client's name of each operation, by its JSON-RPC method and by its RPC. */
const calls = {
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
  if (type === 'card') return new DefaultAgentCardResolver({ fetchImpl: answerWith(() => wire) }).resolve(HERE);
  return form === 'json' ? callRpc(method, type, wire) : callRest(method, wire);
}

const HERE = 'http://127.0.0.1';

/** A request that a client can make of any operation; what it says does not matter. */
const someParams = {
  id: 't', taskId: 't', pushNotificationConfigId: 'c', pushNotificationConfig: { url: HERE },
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
};

/** In place of the network: answers with what `body` makes of a request, as a stream to who asks for one. */
function answerWith(body) {
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
  const client = new JsonRpcTransport({ endpoint: HERE, fetchImpl: answerWith(envelope) });
  if (type === 'error') return client.getTask(someParams).catch((error) => error.errorResponse.error);
  return call(client, method);
}

function callRest(method, wire) {
  return call(new RestTransport({ endpoint: HERE, fetchImpl: answerWith(() => wire) }), method);
}

async function call(client, method) {
  const name = calls[method];
  if (name === 'getExtendedAgentCard') return client[name]();
  const result = client[name](someParams);
  if (!result[Symbol.asyncIterator]) return result;
  for await (const event of result) return event;
  throw new Error('the stream is empty');
}

/** In place of an agent: keeps the parameters of the last request, and stops there. */
let params;
const recorder = new Proxy({}, {
  get: (_, name) => {
    if (name === 'getAgentCard') return async () => ({ capabilities: { streaming: true, pushNotifications: true } });
    return (asked) => {
      params = name === 'getAuthenticatedExtendedAgentCard' ? {} : asked;
      throw new Error('enough is known');
    };
  },
});

async function serveRpc(method, wire) {
  params = undefined;
  const handler = new JsonRpcTransportHandler(recorder);
  const answer = await handler.handle(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${wire}}`);
  return params ?? Promise.reject(new Error(JSON.stringify(answer)));
}

let server;

async function serveRest({ verb, path, body }) {
  server ??= await start();
  params = undefined;
  const headers = { 'Content-Type': 'application/json', Connection: 'close' };
  const answer = await fetch(`${HERE}:${server.address().port}${path}`, { method: verb, headers, body: body ?? undefined });
  const text = await answer.text();
  return params ?? Promise.reject(new Error(`${answer.status} ${text}`));
}

function start() {
  const app = express();
  app.use(restHandler({ requestHandler: recorder, userBuilder: UserBuilder.noAuthentication }));
  return new Promise((done) => {
    const listener = app.listen(0, '127.0.0.1', () => done(listener));
  });
}
