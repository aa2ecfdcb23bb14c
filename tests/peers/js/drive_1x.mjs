// Calls a server of @a2a-js/sdk 1.x with the SDK's own client, over version 1.0 or (--compat) its
// 0.3 transports.

import grpc from '@grpc/grpc-js';
import * as a2a from 'a2a-1.x';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory, withA2AExtensions,
  ServiceParameters,
} from 'a2a-1.x/client';
import { GrpcTransportFactory } from 'a2a-1.x/client/grpc';
import { Cases, mark, ports, sleep } from './mark.mjs';

const compat = process.argv.includes('--compat');
const version = compat ? '0.3' : '1.0';
const bindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' };
const trace = 'https://extensions.example/trace/v1';
const png = Buffer.from('89504e470d0a1a0a00fffe', 'hex').toString('base64');
let messages = 0;

/** A request with one user message: text or JSON parts, then members of the message and of the request. */
function send(parts, members = {}, requestMembers = {}) {
  const list = [].concat(parts).map((part) => (typeof part === 'string' ? { text: part } : part));
  return a2a.SendMessageRequest.fromJSON({
    message: { messageId: `m${++messages}`, role: 'ROLE_USER', parts: list, ...members }, ...requestMembers,
  });
}

const withConfiguration = (configuration) => ({ configuration });
const byTask = (taskId, id) => ({ tenant: '', taskId, id });

async function clientFor(card, binding, { server = '', tenant = '' } = {}) {
  const port = ports[`${server}${binding === 'grpc' ? 'grpc' : 'http'}`];
  const localCard = a2a.AgentCard.fromJSON(a2a.AgentCard.toJSON(card));
  localCard.capabilities = a2a.AgentCapabilities.fromJSON(
    { streaming: true, pushNotifications: true, extendedAgentCard: true });
  localCard.supportedInterfaces = [a2a.AgentInterface.fromJSON({
    url: binding === 'grpc' ? `127.0.0.1:${port}` : `http://127.0.0.1:${port}`,
    protocolBinding: bindings[binding], protocolVersion: version, tenant,
  })];
  const legacyCompat = compat ? { enabled: true } : undefined;
  const grpcChannelCredentials = grpc.credentials.createInsecure();
  return new ClientFactory({ transports: [
    new JsonRpcTransportFactory({ legacyCompat }), new RestTransportFactory({ legacyCompat }),
    new GrpcTransportFactory({ legacyCompat, grpcChannelCredentials }),
  ] }).createFromAgentCard(localCard);
}

async function recordCards() {
  const cases = new Cases('card');
  const resolver = new DefaultAgentCardResolver(compat ? { legacyCompat: { enabled: true } } : undefined);
  const fetchCard = (server) => () => resolver.resolve(`http://127.0.0.1:${ports[server]}`);
  await cases.run('get_agent_card', 'bare', fetchCard('bare_http'));
  const card = await cases.run('get_agent_card', 'full', fetchCard('http'));
  await cases.raw('get_agent_card', 'no_version', 'GET', '/.well-known/agent-card.json', { server: 'bare_http' });
  return card;
}

async function recordSend(cases, client, card) {
  const ok = (name, request, options) =>
    cases.run('send_message', name, () => client.sendMessage(request, options));
  await ok('text', send('complete please'));
  await ok('direct', send('direct', { contextId: 'ctx-direct' }));
  if (cases.binding !== 'grpc') await ok('non_ascii', send('echo Grüße, 世界 🌍 "quoted" \\ \u2028 end\n\ttab'));
  await ok('parts', send([
    'echo',
    { raw: png, filename: 'dot.png', mediaType: 'image/png', metadata: { width: 1 } },
    { url: 'https://files.example/a%20b.pdf', filename: 'a b.pdf', mediaType: 'application/pdf' },
    { data: { nested: { list: [1, 2.5, -3, 'x', null, true], empty: {}, none: [] }, ü: 'é' } },
  ]));
  await ok('data_values', send(['echo', { data: [1, 'two', null] }, { data: 'text' }, { data: 4.5 }, { data: false }]));
  await ok('full', send('echo everything', {
    contextId: 'ctx-full', extensions: [trace], referenceTaskIds: ['earlier-1', 'earlier-2'],
    metadata: { trace: 'abc', n: 7, [trace]: { deep: [1, { a: null }] } },
  }, {
    metadata: { caller: 'fixtures', list: [true, 'x'] },
    configuration: {
      acceptedOutputModes: ['text/plain', 'application/json'], historyLength: 1,
      taskPushNotificationConfig: {
        id: 'cfg-1', url: cases.hook('full'), token: 'token-1',
        authentication: { scheme: 'Bearer', credentials: 'secret-1' },
      },
    },
  }), {
    serviceParameters: ServiceParameters.create(withA2AExtensions(trace, 'https://extensions.example/plain/v1')),
  });
  await ok('history_zero', send('complete', {}, withConfiguration({ historyLength: 0 })));
  await ok('return_immediately', send('slow', {}, withConfiguration({ returnImmediately: true })));
  await sleep(800); // lets the slow task end, so that every run reads the clock equally often
  const states = { fail: 'failed', reject: 'rejected', input: 'input_required', auth: 'auth_required' };
  for (const [instruction, name] of Object.entries(states)) await ok(name, send(instruction));
  if (cases.main) {
    const waiting = await cases.unrecorded(() => client.sendMessage(send('input')));
    await ok('follow_up', send('complete', { taskId: waiting.id, contextId: waiting.contextId }));
  }
  if (!compat) {
    const tenant = await clientFor(card, cases.binding, { tenant: 'acme' });
    await cases.run('send_message', 'tenant', () => tenant.sendMessage(send('complete')));
  }
}

async function recordSendErrors(cases, client, bare, done) {
  const bad = (name, request, via = client) => cases.fail('send_message', name, () => via.sendMessage(request));
  await bad('error_unknown_task', send('complete', { taskId: 'no-such-task' }));
  await bad('error_terminal_task', send('complete', { taskId: done.id, contextId: done.contextId }));
  const waiting = await cases.unrecorded(() => client.sendMessage(send('input')));
  await bad('error_context_mismatch', send('complete', { taskId: waiting.id, contextId: 'another' }));
  await bad('error_content_type', send({ text: 'complete', mediaType: 'text/html' }));
  await bad('error_no_parts', send([]));
  await bad('error_no_message', a2a.SendMessageRequest.fromJSON({}));
  await bad('error_negative_history', send('complete', {}, withConfiguration({ historyLength: -1 })));
  await cases.run('send_message', 'crash', () => client.sendMessage(send('crash')));
  await cases.run('send_message', 'unsupported_operation_by_agent',
    () => client.sendMessage(send('refuse UnsupportedOperationError')));
  const config = withConfiguration({ taskPushNotificationConfig: { url: cases.hook('never') } });
  await bad('error_push_not_supported', send('complete', {}, config), bare);
}

async function recordStreams(cases, client, bare, done) {
  const stream = (name, request) =>
    cases.run('send_streaming_message', name, () => client.sendMessageStream(request));
  const bad = (name, request, via = client) =>
    cases.fail('send_streaming_message', name, () => via.sendMessageStream(request));
  const instructions = { text: 'complete', direct: 'direct', chunks: 'chunks', input_required: 'input' };
  const rejection = 'refuse UnsupportedOperationError';
  const moreInstructions = { failed: 'fail', rejected: 'reject', crash: 'crash', unsupported_by_agent: rejection };
  if (cases.main) Object.assign(instructions, moreInstructions);
  for (const [name, instruction] of Object.entries(instructions)) await stream(name, send(instruction));
  if (cases.main) {
    await recordOpenStream(cases, client);
    const parts = ['echo ü', { raw: png, mediaType: 'image/png' }, { data: { a: [1, { b: null }] } }];
    const taskPushNotificationConfig = { url: cases.hook('stream'), token: 'token-2' };
    await stream('parts', send(parts, {}, withConfiguration({ taskPushNotificationConfig })));
  }
  await bad('error_unknown_task', send('complete', { taskId: 'no-such-task' }));
  await bad('error_terminal_task', send('complete', { taskId: done.id }));
  await bad('error_no_parts', send([]));
  await bad('error_not_supported', send('complete'), bare);
}

/** This SDK keeps a stream open after auth-required, so the reader closes it. */
async function recordOpenStream(cases, client) {
  await mark(cases.binding, 'send_streaming_message', 'auth_required');
  for await (const event of client.sendMessageStream(send('auth'))) {
    await mark();
    if (event.payload.value.status?.state === a2a.TaskState.TASK_STATE_AUTH_REQUIRED) break;
  }
  await sleep(200);
}

async function recordTasks(cases, client, done) {
  const get = (id, historyLength) => () => client.getTask({ tenant: '', id, historyLength });
  await cases.run('get_task', 'found', get(done.id));
  await cases.run('get_task', 'history_zero', get(done.id, 0));
  if (cases.main) await cases.run('get_task', 'history_one', get(done.id, 1));
  await cases.fail('get_task', 'error_not_found', get('no-such-task'));
  if (cases.binding !== 'rest') await cases.fail('get_task', 'error_no_id', get('')); // over REST this is a list
  await cases.fail('get_task', 'error_negative_history', get(done.id, -1));
  if (!compat) await recordLists(cases, client, done.contextId);

  const startHangingTask = () =>
    cases.unrecorded(() => client.sendMessage(send('hang', {}, withConfiguration({ returnImmediately: true }))));
  const cancel = (id, metadata) => () => client.cancelTask({ tenant: '', id, metadata });
  let task = await startHangingTask();
  await cases.run('cancel_task', 'running', cancel(task.id));
  await cases.run('cancel_task', 'canceled_again', cancel(task.id));
  task = await startHangingTask();
  await cases.run('cancel_task', 'metadata', cancel(task.id, { why: 'test' }));
  await cases.fail('cancel_task', 'error_completed', cancel(done.id));
  await cases.fail('cancel_task', 'error_not_found', cancel('no-such-task'));
}

async function recordLists(cases, client, contextId) {
  await cases.unrecorded(() => client.sendMessage(send('fail', { contextId })));
  await cases.unrecorded(() => client.sendMessage(send('complete', { contextId })));
  const list = (members) => () => client.listTasks(a2a.ListTasksRequest.fromJSON(members));
  const page = await cases.run('list_tasks', 'first_page', list({ contextId, pageSize: 2 }));
  await cases.run('list_tasks', 'next_page', list({ contextId, pageSize: 2, pageToken: page.nextPageToken }));
  await cases.run('list_tasks', 'filters', list({
    contextId, status: 'TASK_STATE_COMPLETED', historyLength: 1, includeArtifacts: true, pageSize: 5,
    statusTimestampAfter: '2026-01-01T00:00:00.500Z',
  }));
  await cases.run('list_tasks', 'history_zero', list({ contextId, historyLength: 0 }));
  await cases.run('list_tasks', 'empty', list({ contextId: 'nothing-here' }));
  await cases.fail('list_tasks', 'error_page_size_zero', list({ pageSize: 0 }));
  await cases.fail('list_tasks', 'error_page_size_large', list({ pageSize: 101 }));
  await cases.fail('list_tasks', 'error_page_token', list({ pageToken: 'garbled' }));
}

async function recordSubscriptions(cases, client, bare, done) {
  const startTask = (instruction) =>
    cases.unrecorded(() => client.sendMessage(send(instruction, {}, withConfiguration({ returnImmediately: true }))));
  const subscribe = (id, via = client) => () => via.resubscribeTask({ tenant: '', id });
  let task = await startTask('slow');
  await cases.run('subscribe_to_task', 'running', subscribe(task.id));
  if (cases.main) {
    task = await startTask('hang');
    await mark(cases.binding, 'subscribe_to_task', 'canceled');
    let first = true;
    for await (const _ of subscribe(task.id)()) {
      await mark();
      if (first) client.cancelTask({ tenant: '', id: task.id, metadata: undefined }).catch(() => {});
      first = false;
    }
  }
  await cases.fail('subscribe_to_task', 'error_terminal', subscribe(done.id));
  await cases.fail('subscribe_to_task', 'error_not_found', subscribe('no-such-task'));
  await cases.fail('subscribe_to_task', 'error_not_supported', subscribe('no-such-task', bare));
}

async function recordPush(cases, client, bare) {
  const request = send('hang', {}, withConfiguration({ returnImmediately: true }));
  const task = await cases.unrecorded(() => client.sendMessage(request));
  const config = (name, members) => a2a.TaskPushNotificationConfig.fromJSON({ url: cases.hook(name), ...members });
  const create = (value, via = client) => () => via.createTaskPushNotificationConfig(value);
  const get = (taskId, id, via = client) => () => via.getTaskPushNotificationConfig(byTask(taskId, id));
  const list = (members, via = client) => () =>
    via.listTaskPushNotificationConfig(a2a.ListTaskPushNotificationConfigsRequest.fromJSON(members));
  const drop = (taskId, id, via = client) => () => via.deleteTaskPushNotificationConfig(byTask(taskId, id));
  const authentication = { scheme: 'Bearer', credentials: 'secret-2' };
  const full = config('created', { taskId: task.id, id: 'cfg-a', token: 'token-3', authentication });
  await cases.run('create_push_config', 'full', create(full));
  await cases.run('create_push_config', 'no_id', create(config('no_id', { taskId: task.id })));
  await cases.fail('create_push_config', 'error_task_not_found', create(config('never', { taskId: 'no-such-task' })));
  await cases.fail('create_push_config', 'error_not_supported', create(full, bare));
  await cases.run('get_push_config', 'found', get(task.id, 'cfg-a'));
  await cases.fail('get_push_config', 'error_config_not_found', get(task.id, 'no-such-config'));
  await cases.fail('get_push_config', 'error_task_not_found', get('no-such-task', 'cfg-a'));
  await cases.fail('get_push_config', 'error_not_supported', get(task.id, 'cfg-a', bare));
  await cases.run('list_push_configs', 'two', list({ taskId: task.id }));
  if (!compat) await cases.run('list_push_configs', 'paged', list({ taskId: task.id, pageSize: 1 }));
  await cases.fail('list_push_configs', 'error_not_supported', list({ taskId: task.id }, bare));
  await cases.unrecorded(() => client.cancelTask({ tenant: '', id: task.id, metadata: undefined }));
  await cases.run('delete_push_config', 'found', drop(task.id, 'cfg-a'));
  await cases.run('delete_push_config', 'unknown_config', drop(task.id, 'no-such-config'));
  await cases.fail('delete_push_config', 'error_task_not_found', drop('no-such-task', 'cfg-a'));
  await cases.fail('delete_push_config', 'error_not_supported', drop(task.id, 'cfg-a', bare));
  if (cases.main) await cases.run('list_push_configs', 'one_left', list({ taskId: task.id }));
}

async function recordExtendedCard(cases, client, bare, half) {
  const get = (via) => () => via.getAgentCard();
  await cases.run('get_extended_agent_card', 'full', get(client));
  await cases.fail('get_extended_agent_card', 'error_not_supported', get(bare));
  await cases.fail('get_extended_agent_card', 'error_not_configured', get(half));
}

const v1 = { 'a2a-version': '1.0' };
const hi = { message: { messageId: 'raw-1', role: 'ROLE_USER', parts: [{ text: 'complete' }] } };
const part = (members) => ({ message: { messageId: 'r', role: 'ROLE_USER', parts: [members] } });

/** Sends requests that the SDK's client never sends, to record the responses of its server. */
async function recordRawRpc(cases) {
  const rpc = (name, method, params, headers = v1, operation = 'send_message', members = {}) =>
    cases.rpc(operation, name, { jsonrpc: '2.0', id: 1, method, params, ...members }, { headers });
  await rpc('string_id', 'SendMessage', hi, v1, 'send_message', { id: 'one' });
  await rpc('null_id', 'SendMessage', hi, v1, 'send_message', { id: null });
  await rpc('snake_case', 'SendMessage',
    { message: { message_id: 'raw-2', role: 1, parts: [{ text: 'complete' }] } });
  await rpc('unknown_members', 'SendMessage', { ...hi, surprise: { a: 1 } });
  await rpc('version_patch', 'SendMessage', hi, { 'a2a-version': '1.0.1' });
  await rpc('error_version_not_supported', 'SendMessage', hi, { 'a2a-version': '9.9' });
  await rpc('error_version_missing', 'SendMessage', hi, {});
  await rpc('error_missing_role', 'SendMessage', { message: { messageId: 'r', parts: [{ text: 'complete' }] } });
  await rpc('error_missing_message_id', 'SendMessage',
    { message: { role: 'ROLE_USER', parts: [{ text: 'complete' }] } });
  await rpc('error_unknown_role', 'SendMessage',
    { message: { messageId: 'r', role: 'user', parts: [{ text: 'complete' }] } });
  await rpc('error_empty_part', 'SendMessage', part({}));
  await rpc('error_two_contents', 'SendMessage', part({ text: 'complete', url: 'https://x.example' }));
  await rpc('error_wrong_type', 'SendMessage', { message: 'hello' });
  await rpc('error_method_not_found', 'NoSuchMethod', {});
  await rpc('error_jsonrpc_version', 'SendMessage', hi, v1, 'send_message', { jsonrpc: '1.0' });
  await cases.rpc('send_message', 'error_parse', '{"jsonrpc": "2.0", ', { headers: v1 });
  await cases.rpc('send_message', 'error_batch',
    [{ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } }], { headers: v1 });
  await cases.rpc('send_message', 'error_not_an_object', '"hello"', { headers: v1 });
  await cases.rpc('send_message', 'error_no_method', { jsonrpc: '2.0', id: 1 }, { headers: v1 });
  await cases.rpc('send_message', 'error_media_type', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: hi },
    { headers: { ...v1, 'content-type': 'text/plain' } });
  await cases.raw('send_message', 'error_get', 'GET', '/', { headers: v1 });
  await rpc('error_version_not_supported', 'SendStreamingMessage', hi, { 'a2a-version': '9.9' },
    'send_streaming_message');
  await rpc('error_no_params', 'GetTask', undefined, v1, 'get_task');
  await rpc('no_params', 'GetExtendedAgentCard', undefined, v1, 'get_extended_agent_card');
}

async function recordRawRest(cases, done) {
  const post = (operation, name, path, body, headers = v1) =>
    cases.raw(operation, name, 'POST', path, { headers, body });
  const a2aJson = { ...v1, 'content-type': 'application/a2a+json', accept: 'application/a2a+json' };
  await post('send_message', 'a2a_json', '/message:send', hi, a2aJson);
  await post('send_message', 'error_version_not_supported', '/message:send', hi, { 'a2a-version': '9.9' });
  await post('send_message', 'error_version_missing', '/message:send', hi, {});
  await post('send_message', 'error_parse', '/message:send', '{"message": ');
  await post('send_message', 'error_wrong_type', '/message:send', { message: 'hello' });
  await post('send_message', 'error_empty_body', '/message:send', undefined);
  await post('send_message', 'error_media_type', '/message:send', hi, { ...v1, 'content-type': 'text/plain' });
  await post('send_message', 'error_missing_message_id', '/message:send',
    { message: { role: 'ROLE_USER', parts: [{ text: 'complete' }] } });
  await post('send_message', 'error_no_route', '/no/such/route', hi);
  await cases.raw('send_message', 'error_wrong_verb', 'GET', '/message:send', { headers: v1 });
  await post('send_streaming_message', 'error_version_not_supported', '/message:stream', hi, { 'a2a-version': '9.9' });
  const get = (operation, name, path) => cases.raw(operation, name, 'GET', path, { headers: v1 });
  await get('get_task', 'error_bad_history', `/tasks/${done.id}?historyLength=many`);
  await get('list_tasks', 'unknown_status', '/tasks?contextId=nothing-here&status=WRONG');
  await get('list_tasks', 'error_bad_timestamp', '/tasks?contextId=nothing-here&statusTimestampAfter=yesterday');
  await get('subscribe_to_task', 'get_terminal', `/tasks/${done.id}:subscribe`);
}

const card = await recordCards();
for (const binding of Object.keys(bindings)) {
  const cases = new Cases(binding);
  const client = await clientFor(card, binding);
  const bare = await clientFor(card, binding, { server: 'bare_' });
  const half = await clientFor(card, binding, { server: 'half_' });
  await recordSend(cases, client, card);
  const done = await cases.unrecorded(() => client.sendMessage(send('complete')));
  await recordSendErrors(cases, client, bare, done);
  await recordStreams(cases, client, bare, done);
  await recordTasks(cases, client, done);
  await recordSubscriptions(cases, client, bare, done);
  await recordPush(cases, client, bare);
  await recordExtendedCard(cases, client, bare, half);
  if (binding === 'jsonrpc' && !compat) await recordRawRpc(cases);
  if (binding === 'rest' && !compat) await recordRawRest(cases, done);
}
process.exit(0);
