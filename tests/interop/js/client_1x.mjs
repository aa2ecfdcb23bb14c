// Client of @a2a-js/sdk 1.x, over protocol version 1.0 or (--compat) its 0.3 transports.

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
import { expectEqual } from './checks.mjs';
import { binding, errorCodes, compat, part, protobufNotes, grpcErrors } from './peer.mjs';
import { run } from './run.mjs';

const bindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' };
const kinds = { text: 'text', raw: 'bytes', url: 'url', data: 'data' };
const contents = { bytes: 'raw', url: 'url', data: 'data' };
const tenant = '';
const serializer = compat ? new V03PushNotificationSerializer() : new V1PushNotificationSerializer();
const protobuf = compat && binding !== 'jsonrpc';

const lists = ['list_tasks', 'list_pages', 'page_size', 'page_token'];
const unsupportedIn03 = {
  version: 'the client always declares its own version',
  ...Object.fromEntries(lists.map((operation) => [operation, '0.3 has no task list'])),
};

class Peer {
  supportsNull = true;
  webhooksSendTasks = compat;
  supportsZeroHistory = !protobuf;
  keepsFileNames = !protobuf;
  unsupported = compat ? unsupportedIn03 : {};
  notes = protobuf ? protobufNotes() : {};

  constructor(client, card) {
    this.client = client;
    this.card = fromSdkCard(card);
    // The client makes no webhook calls if the card declares no push notifications; its transport
    // does.
    this.webhookClient = this.card.push ? client : client.transport;
    this.options = this.card.push ? undefined : { serviceParameters: { 'A2A-Version': client.protocolVersion } };
  }

  async send(parts, { task, context, wait = true, history, push } = {}) {
    const taskPushNotificationConfig = push && toSdkWebhook(push);
    const configuration = { returnImmediately: !wait, historyLength: history, taskPushNotificationConfig };
    const reply = await this.client.sendMessage(request(parts, task, context, configuration));
    return 'messageId' in reply ? fromSdkMessage(a2a.Message.toJSON(reply)) : fromSdkTask(a2a.Task.toJSON(reply));
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
    const configuration = push && { taskPushNotificationConfig: toSdkWebhook(push) };
    const events = this.client.sendMessageStream(request(parts, task, context, configuration));
    for await (const event of events) yield fromSdkEvent(event);
  }

  async get(id, historyLength) {
    return fromSdkTask(a2a.Task.toJSON(await this.client.getTask({ tenant, id, historyLength })));
  }

  async list(filters) {
    const page = await this.client.listTasks(a2a.ListTasksRequest.fromJSON(filters));
    const tasks = page.tasks.map((task) => fromSdkTask(a2a.Task.toJSON(task)));
    return { tasks, next: page.nextPageToken, size: page.pageSize, total: page.totalSize };
  }

  async cancel(id) {
    return fromSdkTask(a2a.Task.toJSON(await this.client.cancelTask({ tenant, id, metadata: undefined })));
  }

  async *subscribe(id) {
    for await (const event of this.client.resubscribeTask({ tenant, id })) yield fromSdkEvent(event);
  }

  async createWebhook(task, webhook) {
    const config = a2a.TaskPushNotificationConfig.fromJSON(toSdkWebhook(webhook, task));
    return fromSdkWebhook(await this.webhookClient.createTaskPushNotificationConfig(config, this.options));
  }

  async getWebhook(taskId, id) {
    return fromSdkWebhook(await this.webhookClient.getTaskPushNotificationConfig({ tenant, taskId, id }, this.options));
  }

  async listWebhooks(taskId) {
    const request = a2a.ListTaskPushNotificationConfigsRequest.fromJSON({ taskId });
    return (await this.webhookClient.listTaskPushNotificationConfig(request, this.options)).configs.map(fromSdkWebhook);
  }

  async deleteWebhook(taskId, id) {
    await this.webhookClient.deleteTaskPushNotificationConfig({ tenant, taskId, id }, this.options);
  }

  parseDelivery({ headers, body }) {
    const json = JSON.parse(body);
    const event = compat ? legacyPushNotificationToV1StreamResponse(json) : a2a.StreamResponse.fromJSON(json);
    const { body: reserialized, contentType } = serializer.serialize(event); // as the servers of this SDK do
    expectEqual('media type', headers['content-type'], contentType);
    expectEqual('reserialized event', JSON.parse(reserialized), json);
    return fromSdkEvent(event);
  }

  async extendedCard() {
    return fromSdkCard(await this.client.getAgentCard());
  }

  errorKinds(error) {
    const code = /\(Code: (-\d+)\)/.exec(error.message)?.[1]; // the 0.3 transports keep only the text of some errors
    if (code) return [errorCodes[code]];
    if (protobuf && error.name === 'A2AError') return grpcErrors[error.status] ?? [];
    const name = error.reason && error.name.replace(/Error$/, '');
    return name ? [name === 'RequestMalformed' ? 'InvalidParams' : name] : [];
  }
}

/** Interceptor that replaces the declared protocol version. */
class VersionOverride {
  async before(args) {
    if (this.version) args.options.serviceParameters['A2A-Version'] = this.version;
  }

  async after() {}
}

function request(parts, taskId, contextId, configuration) {
  const content = [].concat(parts).map(toSdkPart);
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: content, taskId, contextId };
  return a2a.SendMessageRequest.fromJSON({ message, configuration });
}

function toSdkPart(value) {
  if (typeof value === 'string') return { text: value };
  return { [contents[value.kind]]: value.value, filename: value.name, mediaType: value.mediaType };
}

function fromSdkPart(json) {
  const content = Object.keys(kinds).find((each) => each in json);
  const value = protobuf && content === 'raw' ? Buffer.from(json.raw, 'base64').toString() : json[content];
  return part(kinds[content], value, json.filename, json.mediaType);
}

function toSdkWebhook({ scheme, credentials, ...webhook }, taskId) {
  return { ...webhook, taskId, authentication: scheme ? { scheme, credentials } : undefined };
}

function fromSdkWebhook({ id, url, token, authentication }) {
  return { id, url, token, ...(authentication ?? { scheme: '', credentials: '' }) };
}

function fromSdkMessage({ messageId: id, role, parts, taskId: task = '', contextId: context = '' }) {
  const roleName = role.replace('ROLE_', '').toLowerCase();
  return { kind: 'message', id, role: roleName, parts: parts.map(fromSdkPart), task, context };
}

const fromSdkArtifact = ({ artifactId: id, parts }) => ({ id, parts: parts.map(fromSdkPart) });

function fromSdkStatus({ state, message }) {
  const name = state.replace('TASK_STATE_', '').toLowerCase().replace('_', '-');
  return { state: name, message: message && fromSdkMessage(message) };
}

function fromSdkTask({ id, contextId: context, status, artifacts = [], history = [] }) {
  const lists = { artifacts: artifacts.map(fromSdkArtifact), history: history.map(fromSdkMessage) };
  return { kind: 'task', id, context, ...fromSdkStatus(status), ...lists };
}

function fromSdkEvent(event) {
  const [[kind, value]] = Object.entries(a2a.StreamResponse.toJSON(event));
  if (kind === 'task') return fromSdkTask(value);
  if (kind === 'message') return fromSdkMessage(value);
  const { taskId: task, contextId: context, status, artifact, lastChunk: last = false } = value;
  if (kind === 'statusUpdate') return { kind: 'status', task, context, ...fromSdkStatus(status) };
  const append = protobuf ? undefined : value.append ?? false;
  return { kind: 'chunk', task, context, artifact: fromSdkArtifact(artifact), append, last };
}

function fromSdkCard({ name, description, capabilities, supportedInterfaces }) {
  const { streaming = false, pushNotifications: push = false, extendedAgentCard: extended = false } = capabilities;
  const bindingNames = supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`);
  return { name, description, streaming, push, extended, bindings: bindingNames };
}

await run(async (base) => {
  const legacyCompat = compat ? { enabled: true } : undefined;
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(base);
  const supportedInterfaces = card.supportedInterfaces.filter((each) => (each.protocolVersion === '0.3') === compat);
  const grpcChannelCredentials = grpc.credentials.createInsecure();
  const transports = [
    new JsonRpcTransportFactory({ legacyCompat }), new RestTransportFactory({ legacyCompat }),
    new GrpcTransportFactory({ legacyCompat, grpcChannelCredentials }),
  ].filter((factory) => factory.protocolName === bindings[binding]);
  const factory = new ClientFactory({ transports, clientConfig: { interceptors: [new VersionOverride()] } });
  return new Peer(await factory.createFromAgentCard({ ...card, supportedInterfaces }), card);
});
