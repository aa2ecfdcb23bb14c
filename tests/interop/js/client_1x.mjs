// The client of @a2a-js/sdk 1.x, over 1.0 or (--compat) over its 0.3 transports.

import { randomUUID } from 'node:crypto';
import grpc from '@grpc/grpc-js';
import * as a2a from 'a2a-1.x';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
} from 'a2a-1.x/client';
import { GrpcTransportFactory } from 'a2a-1.x/client/grpc';
import { legacyPushNotificationToV1StreamResponse } from 'a2a-1.x/compat/v0_3';
import { V03PushNotificationSerializer } from 'a2a-1.x/compat/v0_3/server';
import { V1PushNotificationSerializer } from 'a2a-1.x/server';
import { same } from './checks.mjs';
import { binding, codes, compat, part, reservations, statuses } from './peer.mjs';
import { run } from './run.mjs';

const bindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' };
const kinds = { text: 'text', raw: 'bytes', url: 'url', data: 'data' };
const contents = { bytes: 'raw', url: 'url', data: 'data' };
const tenant = '';
const serializer = compat ? new V03PushNotificationSerializer() : new V1PushNotificationSerializer();
const protobuf = compat && binding !== 'jsonrpc';

const lists = ['list_tasks', 'list_pages', 'page_size', 'page_token'];
const missing = {
  version: 'the client does not let callers set the version',
  ...Object.fromEntries(lists.map((operation) => [operation, '0.3 has no task list'])),
};

class Peer {
  sendsNull = true;
  hearsOfTasks = compat;
  asksForNoHistory = !protobuf;
  namesFiles = !protobuf;
  lacks = compat ? missing : {};
  notes = protobuf ? reservations() : {};

  constructor(client, card) {
    this.client = client;
    this.card = cardOf(card);
    // A client that sees in the card that there are no webhooks asks nobody; its transport does.
    this.asked = this.card.push ? client : client.transport;
    this.options = this.card.push ? undefined : { serviceParameters: { 'A2A-Version': client.protocolVersion } };
  }

  async send(parts, { task, context, wait = true, history, push } = {}) {
    const taskPushNotificationConfig = push && webhookTo(push);
    const configuration = { returnImmediately: !wait, historyLength: history, taskPushNotificationConfig };
    const answer = await this.client.sendMessage(request(parts, task, context, configuration));
    return 'messageId' in answer ? messageOf(a2a.Message.toJSON(answer)) : taskOf(a2a.Task.toJSON(answer));
  }

  async sendAs(version) {
    this.client.config.interceptors[0].version = version;
    try {
      return await this.send('echo hello');
    } finally {
      this.client.config.interceptors[0].version = undefined;
    }
  }

  async *stream(parts, { task, context, push } = {}) {
    const configuration = push && { taskPushNotificationConfig: webhookTo(push) };
    const events = this.client.sendMessageStream(request(parts, task, context, configuration));
    for await (const event of events) yield eventOf(event);
  }

  async get(id, historyLength) {
    return taskOf(a2a.Task.toJSON(await this.client.getTask({ tenant, id, historyLength })));
  }

  async list(filters) {
    const page = await this.client.listTasks(a2a.ListTasksRequest.fromJSON(filters));
    const tasks = page.tasks.map((task) => taskOf(a2a.Task.toJSON(task)));
    return { tasks, next: page.nextPageToken, size: page.pageSize, total: page.totalSize };
  }

  async cancel(id) {
    return taskOf(a2a.Task.toJSON(await this.client.cancelTask({ tenant, id, metadata: undefined })));
  }

  async *subscribe(id) {
    for await (const event of this.client.resubscribeTask({ tenant, id })) yield eventOf(event);
  }

  async createWebhook(task, webhook) {
    const config = a2a.TaskPushNotificationConfig.fromJSON(webhookTo(webhook, task));
    return webhookOf(await this.asked.createTaskPushNotificationConfig(config, this.options));
  }

  async getWebhook(taskId, id) {
    return webhookOf(await this.asked.getTaskPushNotificationConfig({ tenant, taskId, id }, this.options));
  }

  async listWebhooks(taskId) {
    const request = a2a.ListTaskPushNotificationConfigsRequest.fromJSON({ taskId });
    return (await this.asked.listTaskPushNotificationConfig(request, this.options)).configs.map(webhookOf);
  }

  async deleteWebhook(taskId, id) {
    await this.asked.deleteTaskPushNotificationConfig({ tenant, taskId, id }, this.options);
  }

  heard({ headers, body }) {
    const sent = JSON.parse(body);
    const event = compat ? legacyPushNotificationToV1StreamResponse(sent) : a2a.StreamResponse.fromJSON(sent);
    const { body: again, contentType } = serializer.serialize(event); // as the servers of this SDK
    same('media type', headers['content-type'], contentType);
    same('event, read and written again', JSON.parse(again), sent);
    return eventOf(event);
  }

  async extendedCard() {
    return cardOf(await this.client.getAgentCard());
  }

  meanings(error) {
    const code = /\(Code: (-\d+)\)/.exec(error.message)?.[1]; // all that the 0.3 transports leave of some errors
    if (code) return [codes[code]];
    if (protobuf && error.name === 'A2AError') return statuses[error.status] ?? [];
    const name = error.reason && error.name.replace(/Error$/, '');
    return name ? [name === 'RequestMalformed' ? 'InvalidParams' : name] : [];
  }
}

/** Says another version than the client would. */
class Version {
  async before(args) {
    if (this.version) args.options.serviceParameters['A2A-Version'] = this.version;
  }

  async after() {}
}

function request(parts, taskId, contextId, configuration) {
  const content = [].concat(parts).map(partTo);
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: content, taskId, contextId };
  return a2a.SendMessageRequest.fromJSON({ message, configuration });
}

function partTo(value) {
  if (typeof value === 'string') return { text: value };
  return { [contents[value.kind]]: value.value, filename: value.name, mediaType: value.mediaType };
}

function partOf(json) {
  const content = Object.keys(kinds).find((each) => each in json);
  const value = protobuf && content === 'raw' ? Buffer.from(json.raw, 'base64').toString() : json[content];
  return part(kinds[content], value, json.filename, json.mediaType);
}

function webhookTo({ scheme, credentials, ...webhook }, taskId) {
  return { ...webhook, taskId, authentication: scheme ? { scheme, credentials } : undefined };
}

function webhookOf({ id, url, token, authentication }) {
  return { id, url, token, ...(authentication ?? { scheme: '', credentials: '' }) };
}

function messageOf({ messageId: id, role, parts, taskId: task = '', contextId: context = '' }) {
  const who = role.replace('ROLE_', '').toLowerCase();
  return { kind: 'message', id, role: who, parts: parts.map(partOf), task, context };
}

const artifactOf = ({ artifactId: id, parts }) => ({ id, parts: parts.map(partOf) });

function statusOf({ state, message }) {
  const name = state.replace('TASK_STATE_', '').toLowerCase().replace('_', '-');
  return { state: name, message: message && messageOf(message) };
}

function taskOf({ id, contextId: context, status, artifacts = [], history = [] }) {
  const lists = { artifacts: artifacts.map(artifactOf), history: history.map(messageOf) };
  return { kind: 'task', id, context, ...statusOf(status), ...lists };
}

function eventOf(event) {
  const [[kind, value]] = Object.entries(a2a.StreamResponse.toJSON(event));
  if (kind === 'task') return taskOf(value);
  if (kind === 'message') return messageOf(value);
  const { taskId: task, contextId: context, status, artifact, lastChunk: last = false } = value;
  if (kind === 'statusUpdate') return { kind: 'status', task, context, ...statusOf(status) };
  const append = protobuf ? undefined : value.append ?? false;
  return { kind: 'chunk', task, context, artifact: artifactOf(artifact), append, last };
}

function cardOf({ name, description, capabilities, supportedInterfaces }) {
  const { streaming = false, pushNotifications: push = false, extendedAgentCard: extended = false } = capabilities;
  const named = supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`);
  return { name, description, streaming, push, extended, bindings: named };
}

await run(async (base) => {
  const legacyCompat = compat ? { enabled: true } : undefined;
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(base);
  const wanted = card.supportedInterfaces.filter((each) => (each.protocolVersion === '0.3') === compat);
  const grpcChannelCredentials = grpc.credentials.createInsecure();
  const transports = [
    new JsonRpcTransportFactory({ legacyCompat }), new RestTransportFactory({ legacyCompat }),
    new GrpcTransportFactory({ legacyCompat, grpcChannelCredentials }),
  ].filter((factory) => factory.protocolName === bindings[binding]);
  const factory = new ClientFactory({ transports, clientConfig: { interceptors: [new Version()] } });
  return new Peer(await factory.createFromAgentCard({ ...card, supportedInterfaces: wanted }), card);
});
