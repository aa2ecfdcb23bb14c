// Calls a server of @a2a-js/sdk 0.3 with the SDK's own client.

import grpc from '@grpc/grpc-js';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory, ServiceParameters,
  withA2AExtensions,
} from 'a2a-0.3/client';
import { GrpcTransportFactory } from 'a2a-0.3/client/grpc';
import { Cases, mark, ports, sleep } from './mark.mjs';

const bindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' };
const trace = 'https://extensions.example/trace/v1';
const png = Buffer.from('89504e470d0a1a0a00fffe', 'hex').toString('base64');
let messages = 0;

/** Returns null for data or metadata, or undefined over gRPC, where this SDK cannot encode null. */
const nullValue = (cases) => (cases.binding === 'grpc' ? undefined : null);

/** Parameters with one user message: text or parts, then members of the message and of the parameters. */
function send(parts, members = {}, requestMembers = {}) {
  const list = [].concat(parts).map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part));
  return { message: { kind: 'message', messageId: `m${++messages}`, role: 'user', parts: list, ...members }, ...requestMembers };
}

const withConfiguration = (configuration) => ({ configuration });

async function clientFor(card, binding, server = '') {
  const port = ports[`${server}${binding === 'grpc' ? 'grpc' : 'http'}`];
  const localCard = structuredClone(card);
  localCard.url = binding === 'grpc' ? `127.0.0.1:${port}` : `http://127.0.0.1:${port}`;
  localCard.preferredTransport = bindings[binding];
  localCard.additionalInterfaces = [];
  localCard.capabilities = { streaming: true, pushNotifications: true };
  localCard.supportsAuthenticatedExtendedCard = true;
  return new ClientFactory({ transports: [
    new JsonRpcTransportFactory(), new RestTransportFactory(),
    new GrpcTransportFactory({ grpcChannelCredentials: grpc.credentials.createInsecure() }),
  ] }).createFromAgentCard(localCard);
}

async function recordCards() {
  const cases = new Cases('card');
  const resolver = new DefaultAgentCardResolver();
  const fetchCard = (server) => () => resolver.resolve(`http://127.0.0.1:${ports[server]}`);
  await cases.run('get_agent_card', 'bare', fetchCard('bare_http'));
  return cases.run('get_agent_card', 'full', fetchCard('http'));
}

async function recordSend(cases, client) {
  const ok = (name, params, options) => cases.run('send_message', name, () => client.sendMessage(params, options));
  await ok('text', send('complete please'));
  await ok('direct', send('direct', { contextId: 'ctx-direct' }));
  if (cases.binding !== 'grpc') await ok('non_ascii', send('echo Grüße, 世界 🌍 "quoted" \\ \u2028 end\n\ttab'));
  const list = [1, 2.5, -3, 'x', nullValue(cases), true].filter((item) => item !== undefined);
  await ok('parts', send([
    'echo',
    { kind: 'file', file: { bytes: png, name: 'dot.png', mimeType: 'image/png' }, metadata: { width: 1 } },
    { kind: 'file', file: { uri: 'https://files.example/a%20b.pdf', name: 'a b.pdf', mimeType: 'application/pdf' } },
    { kind: 'data', data: { nested: { list, empty: {}, none: [] }, ü: 'é' } },
  ]));
  await ok('full', send('echo everything', {
    contextId: 'ctx-full', extensions: [trace], referenceTaskIds: ['earlier-1', 'earlier-2'],
    metadata: { trace: 'abc', n: 7, [trace]: { deep: [1, { a: nullValue(cases) }] } },
  }, {
    metadata: { caller: 'fixtures', list: [true, 'x'] },
    configuration: {
      acceptedOutputModes: ['text/plain', 'application/json'], historyLength: 1, blocking: true,
      pushNotificationConfig: {
        id: 'cfg-1', url: cases.hook('full'), token: 'token-1',
        authentication: { schemes: ['Bearer'], credentials: 'secret-1' },
      },
    },
  }), {
    serviceParameters: ServiceParameters.create(withA2AExtensions(trace, 'https://extensions.example/plain/v1')),
  });
  await ok('history_zero', send('complete', {}, withConfiguration({ historyLength: 0 })));
  await ok('not_blocking', send('slow', {}, withConfiguration({ blocking: false })));
  await sleep(800); // lets the slow task end, so that every run reads the clock equally often
  const states = { fail: 'failed', reject: 'rejected', input: 'input_required', auth: 'auth_required' };
  for (const [instruction, name] of Object.entries(states)) await ok(name, send(instruction));
  if (cases.main) {
    const waiting = await cases.unrecorded(() => client.sendMessage(send('input')));
    await ok('follow_up', send('complete', { taskId: waiting.id, contextId: waiting.contextId }));
  }
}

async function recordSendErrors(cases, client, bare, done) {
  const bad = (name, params, via = client) => cases.fail('send_message', name, () => via.sendMessage(params));
  await bad('error_unknown_task', send('complete', { taskId: 'no-such-task' }));
  await bad('error_terminal_task', send('complete', { taskId: done.id, contextId: done.contextId }));
  const waiting = await cases.unrecorded(() => client.sendMessage(send('input')));
  await bad('error_context_mismatch', send('complete', { taskId: waiting.id, contextId: 'another' }));
  await bad('error_no_parts', send([]));
  await bad('error_negative_history', send('complete', {}, withConfiguration({ historyLength: -1 })));
  await bad('error_crash', send('crash'));
  await bad('error_unsupported_operation_by_agent', send('refuse unsupportedOperation'));
  await bad('error_invalid_params_by_agent', send('refuse invalidParams'));
  const config = withConfiguration({ pushNotificationConfig: { url: cases.hook('never') } });
  await bad('push_without_support', send('complete', {}, config), bare);
}

async function recordStreams(cases, client, bare, done) {
  const stream = (name, params) => cases.run('send_streaming_message', name, () => client.sendMessageStream(params));
  const bad = (name, params, via = client) =>
    cases.fail('send_streaming_message', name, () => via.sendMessageStream(params));
  const instructions = { text: 'complete', direct: 'direct', chunks: 'chunks', input_required: 'input' };
  const moreInstructions = { failed: 'fail', rejected: 'reject', auth_required: 'auth', crash: 'crash' };
  if (cases.main) Object.assign(instructions, moreInstructions);
  for (const [name, instruction] of Object.entries(instructions)) await stream(name, send(instruction));
  if (cases.main) {
    const picture = { kind: 'file', file: { bytes: png, mimeType: 'image/png' } };
    const parts = ['echo ü', picture, { kind: 'data', data: { a: [1, { b: null }] } }];
    const pushNotificationConfig = { url: cases.hook('stream'), token: 'token-2' };
    await stream('parts', send(parts, {}, withConfiguration({ pushNotificationConfig })));
  }
  await bad('error_unsupported_by_agent', send('refuse unsupportedOperation'));
  await bad('error_unknown_task', send('complete', { taskId: 'no-such-task' }));
  await bad('error_terminal_task', send('complete', { taskId: done.id }));
  await bad('error_not_supported', send('complete'), bare);
}

const startHangingTask = (cases, client, instruction = 'hang') =>
  cases.unrecorded(() => client.sendMessage(send(instruction, {}, withConfiguration({ blocking: false }))));

async function recordTasks(cases, client, done) {
  const get = (id, historyLength) => () => client.getTask({ id, historyLength });
  await cases.run('get_task', 'found', get(done.id));
  await cases.run('get_task', 'history_zero', get(done.id, 0));
  if (cases.main) await cases.run('get_task', 'history_one', get(done.id, 1));
  await cases.fail('get_task', 'error_not_found', get('no-such-task'));
  await cases.fail('get_task', 'error_negative_history', get(done.id, -1));
  const cancel = (id, metadata) => () => client.cancelTask({ id, metadata });
  let task = await startHangingTask(cases, client);
  await cases.run('cancel_task', 'running', cancel(task.id));
  await cases.fail('cancel_task', 'canceled_again', cancel(task.id));
  task = await startHangingTask(cases, client);
  await cases.run('cancel_task', 'metadata', cancel(task.id, { why: 'test' }));
  await cases.fail('cancel_task', 'error_completed', cancel(done.id));
  await cases.fail('cancel_task', 'error_not_found', cancel('no-such-task'));
}

async function recordSubscriptions(cases, client, bare, done) {
  const subscribe = (id, via = client) => () => via.resubscribeTask({ id });
  let task = await startHangingTask(cases, client, 'slow');
  await cases.run('subscribe_to_task', 'running', subscribe(task.id));
  if (cases.main) {
    task = await startHangingTask(cases, client);
    await mark(cases.binding, 'subscribe_to_task', 'canceled');
    const reading = cases.drain(subscribe(task.id));
    await sleep(400);
    await mark();
    await client.cancelTask({ id: task.id });
    await Promise.race([reading, sleep(5000)]);
  }
  await cases.fail('subscribe_to_task', 'error_terminal', subscribe(done.id));
  await cases.fail('subscribe_to_task', 'error_not_found', subscribe('no-such-task'));
  await cases.fail('subscribe_to_task', 'error_not_supported', subscribe('no-such-task', bare));
}

async function recordPush(cases, client, bare) {
  const task = await startHangingTask(cases, client);
  const config = (name, members = {}, taskId = task.id) =>
    ({ taskId, pushNotificationConfig: { url: cases.hook(name), ...members } });
  const set = (value, via = client) => () => via.setTaskPushNotificationConfig(value);
  const byId = (id, pushNotificationConfigId) => ({ id, pushNotificationConfigId });
  const get = (params, via = client) => () => via.getTaskPushNotificationConfig(params);
  const list = (id, via = client) => () => via.listTaskPushNotificationConfig({ id });
  const drop = (params, via = client) => () => via.deleteTaskPushNotificationConfig(params);
  const authentication = { schemes: ['Bearer', 'Basic'], credentials: 'secret-2' };
  const full = config('created', { id: 'cfg-a', token: 'token-3', authentication });
  await cases.run('create_push_config', 'full', set(full));
  await cases.run('create_push_config', 'no_id', set(config('no_id')));
  await cases.fail('create_push_config', 'error_task_not_found', set(config('never', {}, 'no-such-task')));
  await cases.fail('create_push_config', 'error_not_supported', set(full, bare));
  await cases.run('get_push_config', 'found', get(byId(task.id, 'cfg-a')));
  await cases.fail('get_push_config', 'error_config_not_found', get(byId(task.id, 'no-such-config')));
  await cases.fail('get_push_config', 'error_task_not_found', get(byId('no-such-task', 'cfg-a')));
  await cases.fail('get_push_config', 'error_not_supported', get(byId(task.id, 'cfg-a'), bare));
  await cases.run('list_push_configs', 'two', list(task.id));
  await cases.fail('list_push_configs', 'error_not_supported', list(task.id, bare));
  await cases.unrecorded(() => client.cancelTask({ id: task.id }));
  await cases.run('delete_push_config', 'found', drop(byId(task.id, 'cfg-a')));
  await cases.run('delete_push_config', 'unknown_config', drop(byId(task.id, 'no-such-config')));
  await cases.fail('delete_push_config', 'error_task_not_found', drop(byId('no-such-task', 'cfg-a')));
  await cases.fail('delete_push_config', 'error_not_supported', drop(byId(task.id, 'cfg-a'), bare));
  if (cases.main) await cases.run('list_push_configs', 'one_left', list(task.id));
}

async function recordExtendedCard(cases, client, bare, half) {
  const get = (via) => () => via.getAgentCard();
  await cases.run('get_extended_agent_card', 'full', get(client));
  await cases.fail('get_extended_agent_card', 'error_not_supported', get(bare));
  await cases.fail('get_extended_agent_card', 'error_not_configured', get(half));
}

const hi = { message: { kind: 'message', messageId: 'raw-1', role: 'user', parts: [{ kind: 'text', text: 'complete' }] } };

/** Sends requests that the SDK's client never sends, to record the responses of its server. */
async function recordRawRpc(cases) {
  const rpc = (name, method, params, members = {}) =>
    cases.rpc('send_message', name, { jsonrpc: '2.0', id: 1, method, params, ...members });
  await rpc('string_id', 'message/send', hi, { id: 'one' });
  await rpc('null_id', 'message/send', hi, { id: null });
  await rpc('unknown_members', 'message/send', { ...hi, surprise: { a: 1 } });
  await rpc('error_missing_role', 'message/send', { message: { ...hi.message, role: undefined } });
  await rpc('error_missing_message_id', 'message/send', { message: { ...hi.message, messageId: undefined } });
  await rpc('error_no_message', 'message/send', {});
  await rpc('error_no_params', 'message/send', undefined);
  await rpc('error_method_not_found', 'no/such/method', {});
  await rpc('error_new_method', 'SendMessage', hi);
  await rpc('error_jsonrpc_version', 'message/send', hi, { jsonrpc: '1.0' });
  await cases.rpc('send_message', 'error_parse', '{"jsonrpc": "2.0", ');
  await cases.rpc('send_message', 'error_batch', [{ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'x' } }]);
  await cases.rpc('send_message', 'error_not_an_object', '"hello"');
  await cases.rpc('send_message', 'error_no_method', { jsonrpc: '2.0', id: 1 });
  await cases.raw('send_message', 'error_get', 'GET', '/');
}

async function recordRawRest(cases, done) {
  const post = (name, path, body) => cases.raw('send_message', name, 'POST', path, { body });
  const proto = { messageId: 'raw-2', role: 'ROLE_USER', content: [{ text: 'complete' }] };
  await post('proto_json', '/v1/message:send', { message: proto });
  await post('snake_case', '/v1/message:send',
    { request: { message_id: 'raw-3', role: 'ROLE_USER', content: [{ text: 'complete' }] } });
  await post('kind_parts', '/v1/message:send', hi);
  await post('error_parse', '/v1/message:send', '{"message": ');
  await post('error_wrong_type', '/v1/message:send', { message: 'hello' });
  await post('error_empty_body', '/v1/message:send', undefined);
  await post('error_no_route', '/v1/no/such/route', hi);
  await cases.raw('send_message', 'error_wrong_verb', 'GET', '/v1/message:send');
  const config = { url: cases.hook('raw'), id: 'cfg-raw', token: 'token-4' };
  await cases.raw('create_push_config', 'wrapped', 'POST', `/v1/tasks/${done.id}/pushNotificationConfigs`,
    { body: { parent: `tasks/${done.id}`, configId: 'cfg-raw', config: { pushNotificationConfig: config } } });
  await cases.raw('get_push_config', 'wrapped', 'GET', `/v1/tasks/${done.id}/pushNotificationConfigs/cfg-raw`);
  await cases.raw('list_push_configs', 'wrapped', 'GET', `/v1/tasks/${done.id}/pushNotificationConfigs`);
  await cases.raw('get_task', 'error_bad_history', 'GET', `/v1/tasks/${done.id}?historyLength=many`);
  await cases.raw('subscribe_to_task', 'error_get', 'GET', `/v1/tasks/${done.id}:subscribe`);
}

const card = await recordCards();
for (const binding of Object.keys(bindings)) {
  const cases = new Cases(binding);
  const client = await clientFor(card, binding);
  const bare = await clientFor(card, binding, 'bare_');
  const half = await clientFor(card, binding, 'half_');
  await recordSend(cases, client);
  const done = await cases.unrecorded(() => client.sendMessage(send('complete')));
  await recordSendErrors(cases, client, bare, done);
  await recordStreams(cases, client, bare, done);
  await recordTasks(cases, client, done);
  await recordSubscriptions(cases, client, bare, done);
  await recordPush(cases, client, bare);
  await recordExtendedCard(cases, client, bare, half);
  if (binding === 'jsonrpc') await recordRawRpc(cases);
  if (binding === 'rest') await recordRawRest(cases, done);
}
process.exit(0);
