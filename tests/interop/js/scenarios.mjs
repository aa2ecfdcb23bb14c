// Scenarios of a client of the demo server, except webhooks.

import { randomUUID } from 'node:crypto';
import {
  checkStored, checkStream, collect, expect, expectEqual, expectError, expectTask, finishedTask, joinText, startTask,
  statusText, taskParts, taskText, waitUntilTerminal,
} from './checks.mjs';
import { part } from './peer.mjs';

const allBytes = Buffer.from([...Array(256).keys(), 0, 255, 61, 43, 47]).toString('base64');

/** Sends parts, and checks that the server stores them unchanged. */
async function checkPartsStored(peer, ...parts) {
  const task = expectTask(await peer.send(['echo with parts', ...parts]), 'completed');
  const expected = parts.map((each) => ({ ...each, name: peer.keepsFileNames ? each.name : '' }));
  expectEqual('stored parts', (await peer.get(task.id)).history[0].parts.slice(1), expected);
}

/** Scenarios by operation. */
export const scenarios = {
  async card(peer) {
    expect(peer.card.name, 'the card has no name');
    expect(peer.card.streaming, 'the card does not declare streaming');
    expect(peer.card.push, 'the card does not declare push notifications');
    return peer.card.bindings.join(', ');
  },

  async extended_card(peer) {
    const extended = await peer.extendedCard();
    expectEqual('name', extended.name, peer.card.name);
    expect(peer.card.extended, 'the card does not declare an extended card');
    expect(extended.description !== peer.card.description, 'the extended card is the public one');
    return extended.description;
  },

  async send(peer) {
    const task = expectTask(await peer.send('echo hello'), 'completed');
    expectEqual('text', taskText(task), 'hello');
    expectEqual('request text', joinText(task.history[0].parts), 'echo hello');
    expectEqual('request role', task.history[0].role, 'user');
    return task.id;
  },

  async send_text(peer) {
    for (const text of ['Grüße, 世界 🌍 "quoted" \\ \u2028 end,\n\ttab', 'x'.repeat(100_000)]) {
      expectEqual('text', taskText(expectTask(await peer.send(`echo ${text}`), 'completed')), text);
    }
  },

  async send_context(peer) {
    const context = `context-${randomUUID()}`;
    const first = expectTask(await peer.send('echo one', { context }), 'completed');
    const second = expectTask(await peer.send('echo two', { context }), 'completed');
    expectEqual('contexts', [first.context, second.context], [context, context]);
    expect(first.id !== second.id, 'two tasks have the same id');
  },

  async send_history(peer) {
    const one = expectTask(await peer.send('echo hello', { history: 1 }), 'completed');
    expectEqual('history of length 1', one.history.length, 1);
    if (!peer.supportsZeroHistory) return;
    const none = expectTask(await peer.send('echo hello', { history: 0 }), 'completed');
    expectEqual('history of length 0', none.history, []);
  },

  async return_immediately(peer) {
    const task = await startTask(peer, 'wait 400');
    const done = await waitUntilTerminal(peer, task.id);
    expectEqual('state', done.state, 'completed');
    expectEqual('context', done.context, task.context);
  },

  async direct_message(peer) {
    const reply = await peer.send('say hello there');
    expectEqual('kind of reply', reply.kind, 'message');
    expectEqual('text', joinText(reply.parts), 'hello there');
    expectEqual('role', reply.role, 'agent');
    expect(reply.id && reply.context && !reply.task, `wrong ids of a direct reply: ${JSON.stringify(reply)}`);
  },

  async file_bytes(peer) {
    await checkPartsStored(peer, part('bytes', allBytes, 'all bytes.bin', 'application/octet-stream'));
    const task = expectTask(await peer.send('file report.bin 1000'), 'completed');
    const [file] = taskParts(task).filter((each) => each.kind === 'bytes');
    expectEqual('size', Buffer.from(file.value, 'base64').length, 1000);
    expectEqual('name', file.name, peer.keepsFileNames ? 'report.bin' : '');
    return file.mediaType;
  },

  async file_url(peer) {
    await checkPartsStored(peer, part('url', 'https://files.example/a%20b.bin', 'a b.bin', 'application/octet-stream'));
    const task = expectTask(await peer.send('url https://files.example/x?y=1&z=%20'), 'completed');
    expectEqual('URLs', taskParts(task).filter((each) => each.kind === 'url').map((each) => each.value),
      ['https://files.example/x?y=1&z=%20']);
  },

  async data(peer) {
    const list = [1, 2.5, -3, 'x', null, true].filter((value) => peer.supportsNull || value !== null);
    const value = { nested: { list, empty: {}, none: [] }, ü: 'é' };
    await checkPartsStored(peer, part('data', value));
    const task = expectTask(await peer.send(`data ${JSON.stringify(value)}`), 'completed');
    expectEqual('data', taskParts(task).filter((each) => each.kind === 'data').map((each) => each.value), [value]);
  },

  async failed(peer) {
    expectEqual('reason', statusText(expectTask(await peer.send('fail it broke'), 'failed')), 'it broke');
  },

  async rejected(peer) {
    expectEqual('reason', statusText(expectTask(await peer.send('reject not for me'), 'rejected')), 'not for me');
  },

  async input_required(peer) {
    const waiting = expectTask(await peer.send('ask which colour?'), 'input-required');
    expectEqual('question', statusText(waiting), 'which colour?');
    expectEqual('stored state', (await peer.get(waiting.id)).state, 'input-required');
    let done = expectTask(await peer.send('blue', { task: waiting.id, context: waiting.context }), 'completed');
    expectEqual('ids', [done.id, done.context], [waiting.id, waiting.context]);
    const second = expectTask(await peer.send('ask which size?'), 'input-required');
    done = expectTask(await peer.send('large', { task: second.id }), 'completed');
    expectEqual('context of a message without one', done.context, second.context);
  },

  async auth_required(peer) {
    const waiting = expectTask(await peer.send('auth'), 'auth-required');
    const reply = await peer.send('here you are', { task: waiting.id, context: waiting.context });
    const done = expectTask(reply, 'completed');
    expectEqual('ids', [done.id, done.context], [waiting.id, waiting.context]);
  },

  async stream(peer) {
    const events = await collect(peer.stream('echo hello'));
    const task = checkStream(events, 'completed');
    expectEqual('text', taskText(task), 'hello');
    await checkStored(peer, task);
    return events.map((event) => event.kind).join(', ');
  },

  async stream_message(peer) {
    const events = await collect(peer.stream('say hello there'));
    expectEqual('kinds of events', events.map((event) => event.kind), ['message']);
    expectEqual('text', joinText(events[0].parts), 'hello there');
  },

  async stream_chunks(peer) {
    const events = await collect(peer.stream('chunks 6 20'));
    const task = checkStream(events, 'completed');
    const chunks = events.filter((event) => event.kind === 'chunk');
    const appended = chunks.map((chunk) => chunk.append).filter((append) => append !== undefined);
    if (appended.length > 0) expectEqual('appended', appended, [false, true, true, true, true, true]);
    expectEqual('last', chunks.map((chunk) => chunk.last), [false, false, false, false, false, true]);
    expect(taskText(task), 'the chunks have no text');
    await checkStored(peer, task);
  },

  async stream_burst(peer) {
    const events = await collect(peer.stream('burst 500'));
    await checkStored(peer, checkStream(events, 'completed'));
    expect(events.length > 500, `only ${events.length} events`);
  },

  async stream_failed(peer) {
    expectEqual('reason', statusText(checkStream(await collect(peer.stream('fail it broke')), 'failed')), 'it broke');
  },

  async stream_input_required(peer) {
    const waiting = checkStream(await collect(peer.stream('ask which colour?')), 'input-required');
    expectEqual('question', statusText(waiting), 'which colour?');
    const events = peer.stream('blue', { task: waiting.id, context: waiting.context });
    const done = checkStream(await collect(events), 'completed');
    expectEqual('ids', [done.id, done.context], [waiting.id, waiting.context]);
  },

  async stream_left(peer) {
    let first;
    for await (const event of peer.stream('chunks 4 100')) {
      first = event;
      break;
    }
    expectEqual('kind of the first event', first.kind, 'task');
    const done = await waitUntilTerminal(peer, first.id);
    expectEqual('state', done.state, 'completed');
    expectEqual('text', taskText(done), taskText(checkStream(await collect(peer.stream('chunks 4 1')), 'completed')));
  },

  async get(peer) {
    const waiting = expectTask(await peer.send('ask which colour?'), 'input-required');
    const done = expectTask(await peer.send('blue', { task: waiting.id }), 'completed');
    const stored = await peer.get(done.id);
    expectEqual('ids', [stored.id, stored.context, stored.state], [done.id, done.context, 'completed']);
    const user = stored.history.filter((message) => message.role === 'user');
    expectEqual('user messages', user.map((message) => joinText(message.parts)), ['ask which colour?', 'blue']);
    expectEqual('history of length 1', (await peer.get(done.id, 1)).history, stored.history.slice(-1));
    if (peer.supportsZeroHistory) expectEqual('history of length 0', (await peer.get(done.id, 0)).history, []);
  },

  async list_tasks(peer) {
    const contextId = `context-${randomUUID()}`;
    const first = expectTask(await peer.send('echo one', { context: contextId }), 'completed');
    const second = expectTask(await peer.send('fail two', { context: contextId }), 'failed');
    let page = await peer.list({ contextId });
    expectEqual('tasks, newest first', page.tasks.map((task) => task.id), [second.id, first.id]);
    expectEqual('total and next', [page.total, page.next], [2, '']);
    expectEqual('artifacts', page.tasks.map((task) => task.artifacts), [[], []]);
    page = await peer.list({ contextId, status: 'TASK_STATE_COMPLETED', includeArtifacts: true });
    expectEqual('completed tasks', page.tasks.map((task) => [task.id, taskText(task)]), [[first.id, 'one']]);
    expectEqual('tasks of an unknown context', (await peer.list({ contextId: 'no-such-context' })).tasks, []);
  },

  async list_pages(peer) {
    const contextId = `context-${randomUUID()}`;
    const created = [];
    for (const number of [1, 2, 3]) created.push((await peer.send(`echo ${number}`, { context: contextId })).id);
    const page = await peer.list({ contextId, pageSize: 2 });
    expectEqual('first page', [page.tasks.length, page.size, page.total], [2, 2, 3]);
    expect(page.next, 'the first page has no token for the next one');
    const last = await peer.list({ contextId, pageSize: 2, pageToken: page.next });
    expectEqual('last page', [last.tasks.length, last.total, last.next], [1, 3, '']);
    expectEqual('all tasks', [...page.tasks, ...last.tasks].map((task) => task.id).sort(), created.sort());
  },

  async cancel(peer) {
    const task = await startTask(peer, 'wait 60000');
    const canceled = expectTask(await peer.cancel(task.id), 'canceled');
    expectEqual('ids', [canceled.id, canceled.context], [task.id, task.context]);
    expectEqual('stored state', (await peer.get(task.id)).state, 'canceled');
    expectEqual('state after a second cancellation', (await peer.cancel(task.id)).state, 'canceled');
  },

  async cancel_waiting(peer) {
    const waiting = expectTask(await peer.send('ask which colour?'), 'input-required');
    expectTask(await peer.cancel(waiting.id), 'canceled');
  },

  async subscribe(peer) {
    const task = await startTask(peer, 'chunks 6 100');
    const events = await collect(peer.subscribe(task.id));
    const streamed = checkStream(events, 'completed');
    expectEqual('id', streamed.id, task.id);
    expect(events.some((event) => event.kind === 'chunk'), 'the subscription received no chunk');
    await checkStored(peer, streamed);
  },

  async subscribe_canceled(peer) {
    const task = await startTask(peer, 'wait 60000');
    const events = [];
    for await (const event of peer.subscribe(task.id)) {
      if (events.push(event) === 1) await peer.cancel(task.id);
    }
    checkStream(events, 'canceled');
  },

  async subscribe_waiting(peer) {
    const waiting = expectTask(await peer.send('ask which colour?'), 'input-required');
    const events = [];
    for await (const event of peer.subscribe(waiting.id)) {
      if (events.push(event) > 1) continue;
      expectEqual('first state', event.state, 'input-required');
      expectTask(await peer.send('blue', { task: waiting.id }), 'completed');
    }
    checkStream(events, 'completed');
  },

  unknown_get: (peer) => expectError(peer, 'TaskNotFound', () => peer.get('no-such-task')),
  unknown_cancel: (peer) => expectError(peer, 'TaskNotFound', () => peer.cancel('no-such-task')),
  unknown_subscribe: (peer) => expectError(peer, 'TaskNotFound', () => peer.subscribe('no-such-task')),
  unknown_send: (peer) => expectError(peer, 'TaskNotFound', () => peer.send('echo hello', { task: 'no-such-task' })),
  unknown_stream: (peer) => expectError(peer, 'TaskNotFound',
    () => peer.stream('echo hello', { task: 'no-such-task' })),

  async finished_send(peer) {
    const { id: task, context } = await finishedTask(peer);
    return expectError(peer, 'UnsupportedOperation', () => peer.send('echo more', { task, context }));
  },

  async finished_stream(peer) {
    const { id: task, context } = await finishedTask(peer);
    return expectError(peer, 'UnsupportedOperation', () => peer.stream('echo more', { task, context }));
  },

  async finished_cancel(peer) {
    const { id } = await finishedTask(peer);
    return expectError(peer, 'TaskNotCancelable', () => peer.cancel(id));
  },

  async finished_subscribe(peer) {
    const { id } = await finishedTask(peer);
    return expectError(peer, 'UnsupportedOperation', () => peer.subscribe(id));
  },

  async other_context(peer) {
    const { id: task } = expectTask(await peer.send('ask which colour?'), 'input-required');
    const message = await expectError(peer, 'InvalidParams', () => peer.send('blue', { task, context: 'another' }));
    expectEqual('stored state', (await peer.get(task)).state, 'input-required');
    return message;
  },

  no_parts: (peer) => expectError(peer, 'InvalidParams', () => peer.send([])),

  async negative_history(peer) {
    const { id } = await finishedTask(peer);
    await expectError(peer, 'InvalidParams', () => peer.send('echo hello', { history: -1 }));
    return expectError(peer, 'InvalidParams', () => peer.get(id, -1));
  },

  async page_size(peer) {
    for (const pageSize of [0, 101, -1]) await expectError(peer, 'InvalidParams', () => peer.list({ pageSize }));
  },

  page_token: (peer) => expectError(peer, 'InvalidParams', () => peer.list({ pageToken: 'garbled' })),

  content_type: (peer) => expectError(peer, 'ContentTypeNotSupported',
    () => peer.minimal.send(['hello', part('bytes', 'TVo=', 'a.exe', 'application/x-msdownload')])),

  version: (peer) => expectError(peer, 'VersionNotSupported', () => peer.sendAs('9.9')),
};
