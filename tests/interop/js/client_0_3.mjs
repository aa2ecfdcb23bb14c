// The client of @a2a-js/sdk 0.3.

import { randomUUID } from 'node:crypto';
import grpc from '@grpc/grpc-js';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
} from 'a2a-0.3/client';
import { GrpcTransportFactory } from 'a2a-0.3/client/grpc';
import { same } from './checks.mjs';
import { binding, codes, part, reservations, statuses } from './peer.mjs';
import { run } from './run.mjs';

const bindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' };
const protobuf = binding !== 'jsonrpc';
const lists = ['list_tasks', 'list_pages', 'page_size', 'page_token'];

class Peer {
  lacks = {
    version: 'the SDK sends no version',
    ...Object.fromEntries(lists.map((operation) => [operation, '0.3 has no task list'])),
  };

  notes = protobuf ? reservations() : {};
  sendsNull = binding !== 'grpc';
  hearsOfTasks = true;
  asksForNoHistory = !protobuf;
  namesFiles = !protobuf;

  constructor(client, card) {
    this.client = client;
    this.card = cardOf(card);
    // A client that sees in the card that there are no webhooks asks nobody; its transport does.
    this.asked = this.card.push ? client : client.transport;
  }

  async send(parts, { task, context, wait = true, history, push } = {}) {
    const pushNotificationConfig = push && webhookTo(push);
    const configuration = { blocking: wait, historyLength: history, pushNotificationConfig };
    return eventOf(await this.client.sendMessage({ message: message(parts, task, context), configuration }));
  }

  async *stream(parts, { task, context, push } = {}) {
    const configuration = push && { pushNotificationConfig: webhookTo(push) };
    const events = this.client.sendMessageStream({ message: message(parts, task, context), configuration });
    for await (const event of events) yield eventOf(event);
  }

  async get(id, historyLength) {
    return eventOf(await this.client.getTask({ id, historyLength }));
  }

  async cancel(id) {
    return eventOf(await this.client.cancelTask({ id }));
  }

  async *subscribe(id) {
    for await (const event of this.client.resubscribeTask({ id })) yield eventOf(event);
  }

  async createWebhook(taskId, webhook) {
    const config = { taskId, pushNotificationConfig: webhookTo(webhook) };
    return webhookOf(await this.asked.setTaskPushNotificationConfig(config));
  }

  async getWebhook(id, pushNotificationConfigId) {
    return webhookOf(await this.asked.getTaskPushNotificationConfig({ id, pushNotificationConfigId }));
  }

  async listWebhooks(id) {
    return (await this.asked.listTaskPushNotificationConfig({ id })).map(webhookOf);
  }

  async deleteWebhook(id, pushNotificationConfigId) {
    await this.asked.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId });
  }

  heard({ headers, body }) {
    same('media type', headers['content-type'], 'application/json');
    return eventOf(JSON.parse(body));
  }

  async extendedCard() {
    return cardOf(await this.client.getAgentCard());
  }

  meanings(error) {
    const named = Object.values(codes).find((name) => error.constructor.name.startsWith(`${name}Error`)
      || error.constructor.name === `${name}JSONRPCError`);
    if (named) return [named];
    const code = error.errorResponse?.error?.code ?? /\(Code: (-\d+)\)/.exec(error.message)?.[1];
    if (code) return [codes[code]];
    return statuses[error.cause?.code] ?? [];
  }
}

function message(parts, taskId, contextId) {
  return {
    kind: 'message', messageId: randomUUID(), role: 'user', parts: [].concat(parts).map(partTo), taskId, contextId,
  };
}

function partTo(value) {
  if (typeof value === 'string') return { kind: 'text', text: value };
  if (value.kind === 'data') return { kind: 'data', data: value.value };
  const named = { name: value.name, mimeType: value.mediaType };
  return { kind: 'file', file: { [value.kind === 'url' ? 'uri' : 'bytes']: value.value, ...named } };
}

function partOf({ kind, text, data, file }) {
  if (kind !== 'file') return part(kind, kind === 'text' ? text : data);
  if ('uri' in file) return part('url', file.uri, file.name, file.mimeType);
  const bytes = protobuf ? Buffer.from(file.bytes, 'base64').toString() : file.bytes;
  return part('bytes', bytes, file.name, file.mimeType);
}

function webhookTo({ id, url, token, scheme, credentials }) {
  const authentication = scheme ? { schemes: [scheme], credentials } : undefined;
  return { id, url, token: token || undefined, authentication };
}

function webhookOf({ pushNotificationConfig: { id, url, token = '', authentication } }) {
  const { schemes: [scheme], credentials } = authentication ?? { schemes: [''], credentials: '' };
  return { id, url, token, scheme, credentials };
}

function messageOf({ messageId: id, role, parts, taskId: task = '', contextId: context = '' }) {
  return { kind: 'message', id, role, parts: parts.map(partOf), task, context };
}

const artifactOf = ({ artifactId: id, parts }) => ({ id, parts: parts.map(partOf) });
const statusOf = ({ state, message: said }) => ({ state, message: said && messageOf(said) });

function eventOf(event) {
  switch (event.kind) {
    case 'task': {
      const { id, contextId: context, status, artifacts, history } = event;
      const sublists = { artifacts: (artifacts ?? []).map(artifactOf), history: (history ?? []).map(messageOf) };
      return { kind: 'task', id, context, ...statusOf(status), ...sublists };
    }
    case 'message':
      return messageOf(event);
    case 'status-update': {
      const { taskId: task, contextId: context, status, final } = event;
      return { kind: 'status', task, context, ...statusOf(status), final };
    }
    default: {
      const { taskId: task, contextId: context, artifact, lastChunk: last = false } = event;
      const append = protobuf ? undefined : event.append ?? false;
      return { kind: 'chunk', task, context, artifact: artifactOf(artifact), append, last };
    }
  }
}

function cardOf(card) {
  const { streaming = false, pushNotifications: push = false } = card.capabilities;
  const preferred = card.preferredTransport ?? 'JSONRPC';
  const others = (card.additionalInterfaces ?? []).map((each) => each.transport);
  const { name, description, supportsAuthenticatedExtendedCard: extended = false } = card;
  return { name, description, streaming, push, extended, bindings: [preferred, ...others] };
}

await run(async (base) => {
  const card = await new DefaultAgentCardResolver().resolve(base);
  const transports = [
    new JsonRpcTransportFactory(), new RestTransportFactory(),
    new GrpcTransportFactory({ grpcChannelCredentials: grpc.credentials.createInsecure() }),
  ].filter((factory) => factory.protocolName === bindings[binding]);
  return new Peer(await new ClientFactory({ transports }).createFromAgentCard(card), card);
});
