// Client of @a2a-js/sdk 0.3.

import { randomUUID } from 'node:crypto';
import grpc from '@grpc/grpc-js';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
} from 'a2a-0.3/client';
import { GrpcTransportFactory } from 'a2a-0.3/client/grpc';
import { expectEqual } from './checks.mjs';
import { binding, errorCodes, part, protobufNotes, grpcErrors } from './peer.mjs';
import { run } from './run.mjs';

const bindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' };
const protobuf = binding !== 'jsonrpc';
const lists = ['list_tasks', 'list_pages', 'page_size', 'page_token'];

class Peer {
  unsupported = {
    version: 'the SDK declares no version',
    ...Object.fromEntries(lists.map((operation) => [operation, '0.3 has no task list'])),
  };

  notes = protobuf ? protobufNotes() : {};
  supportsNull = binding !== 'grpc';
  webhooksSendTasks = true;
  supportsZeroHistory = !protobuf;
  keepsFileNames = !protobuf;

  constructor(client, card) {
    this.client = client;
    this.card = fromSdkCard(card);
    // The client makes no webhook calls if the card declares no push notifications; its transport
    // does.
    this.webhookClient = this.card.push ? client : client.transport;
  }

  async send(parts, { task, context, wait = true, history, push } = {}) {
    const pushNotificationConfig = push && toSdkWebhook(push);
    const configuration = { blocking: wait, historyLength: history, pushNotificationConfig };
    return fromSdkEvent(await this.client.sendMessage({ message: message(parts, task, context), configuration }));
  }

  async *stream(parts, { task, context, push } = {}) {
    const configuration = push && { pushNotificationConfig: toSdkWebhook(push) };
    const events = this.client.sendMessageStream({ message: message(parts, task, context), configuration });
    for await (const event of events) yield fromSdkEvent(event);
  }

  async get(id, historyLength) {
    return fromSdkEvent(await this.client.getTask({ id, historyLength }));
  }

  async cancel(id) {
    return fromSdkEvent(await this.client.cancelTask({ id }));
  }

  async *subscribe(id) {
    for await (const event of this.client.resubscribeTask({ id })) yield fromSdkEvent(event);
  }

  async createWebhook(taskId, webhook) {
    const config = { taskId, pushNotificationConfig: toSdkWebhook(webhook) };
    return fromSdkWebhook(await this.webhookClient.setTaskPushNotificationConfig(config));
  }

  async getWebhook(id, pushNotificationConfigId) {
    return fromSdkWebhook(await this.webhookClient.getTaskPushNotificationConfig({ id, pushNotificationConfigId }));
  }

  async listWebhooks(id) {
    return (await this.webhookClient.listTaskPushNotificationConfig({ id })).map(fromSdkWebhook);
  }

  async deleteWebhook(id, pushNotificationConfigId) {
    await this.webhookClient.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId });
  }

  parseDelivery({ headers, body }) {
    expectEqual('media type', headers['content-type'], 'application/json');
    return fromSdkEvent(JSON.parse(body));
  }

  async extendedCard() {
    return fromSdkCard(await this.client.getAgentCard());
  }

  errorKinds(error) {
    const kind = Object.values(errorCodes).find((name) => error.constructor.name.startsWith(`${name}Error`)
      || error.constructor.name === `${name}JSONRPCError`);
    if (kind) return [kind];
    const code = error.errorResponse?.error?.code ?? /\(Code: (-\d+)\)/.exec(error.message)?.[1];
    if (code) return [errorCodes[code]];
    return grpcErrors[error.cause?.code] ?? [];
  }
}

function message(parts, taskId, contextId) {
  return {
    kind: 'message', messageId: randomUUID(), role: 'user', parts: [].concat(parts).map(toSdkPart), taskId, contextId,
  };
}

function toSdkPart(value) {
  if (typeof value === 'string') return { kind: 'text', text: value };
  if (value.kind === 'data') return { kind: 'data', data: value.value };
  const metadata = { name: value.name, mimeType: value.mediaType };
  return { kind: 'file', file: { [value.kind === 'url' ? 'uri' : 'bytes']: value.value, ...metadata } };
}

function fromSdkPart({ kind, text, data, file }) {
  if (kind !== 'file') return part(kind, kind === 'text' ? text : data);
  if ('uri' in file) return part('url', file.uri, file.name, file.mimeType);
  const bytes = protobuf ? Buffer.from(file.bytes, 'base64').toString() : file.bytes;
  return part('bytes', bytes, file.name, file.mimeType);
}

function toSdkWebhook({ id, url, token, scheme, credentials }) {
  const authentication = scheme ? { schemes: [scheme], credentials } : undefined;
  return { id, url, token: token || undefined, authentication };
}

function fromSdkWebhook({ pushNotificationConfig: { id, url, token = '', authentication } }) {
  const { schemes: [scheme], credentials } = authentication ?? { schemes: [''], credentials: '' };
  return { id, url, token, scheme, credentials };
}

function fromSdkMessage({ messageId: id, role, parts, taskId: task = '', contextId: context = '' }) {
  return { kind: 'message', id, role, parts: parts.map(fromSdkPart), task, context };
}

const fromSdkArtifact = ({ artifactId: id, parts }) => ({ id, parts: parts.map(fromSdkPart) });
const fromSdkStatus = ({ state, message }) => ({ state, message: message && fromSdkMessage(message) });

function fromSdkEvent(event) {
  switch (event.kind) {
    case 'task': {
      const { id, contextId: context, status, artifacts, history } = event;
      const lists = { artifacts: artifacts ?? [], history: history ?? [] };
      return {
        kind: 'task', id, context, ...fromSdkStatus(status), artifacts: lists.artifacts.map(fromSdkArtifact),
        history: lists.history.map(fromSdkMessage),
      };
    }
    case 'message':
      return fromSdkMessage(event);
    case 'status-update': {
      const { taskId: task, contextId: context, status, final } = event;
      return { kind: 'status', task, context, ...fromSdkStatus(status), final };
    }
    default: {
      const { taskId: task, contextId: context, artifact, lastChunk: last = false } = event;
      const append = protobuf ? undefined : event.append ?? false;
      return { kind: 'chunk', task, context, artifact: fromSdkArtifact(artifact), append, last };
    }
  }
}

function fromSdkCard(card) {
  const { streaming = false, pushNotifications: push = false } = card.capabilities;
  const preferred = card.preferredTransport ?? 'JSONRPC';
  const additional = (card.additionalInterfaces ?? []).map((each) => each.transport);
  const { name, description, supportsAuthenticatedExtendedCard: extended = false } = card;
  return { name, description, streaming, push, extended, bindings: [preferred, ...additional] };
}

await run(async (base) => {
  const card = await new DefaultAgentCardResolver().resolve(base);
  const transports = [
    new JsonRpcTransportFactory(), new RestTransportFactory(),
    new GrpcTransportFactory({ grpcChannelCredentials: grpc.credentials.createInsecure() }),
  ].filter((factory) => factory.protocolName === bindings[binding]);
  return new Peer(await new ClientFactory({ transports }).createFromAgentCard(card), card);
});
