// What a client asks of the demo server, and what must come back; webhooks are apart.

import { randomUUID } from 'node:crypto';
import {
  aTask, agrees, coherent, ended, expect, finished, listened, partsIn, refused, said, same, started, textIn, textOf,
} from './checks.mjs';
import { part } from './peer.mjs';

const allBytes = Buffer.from([...Array(256).keys(), 0, 255, 61, 43, 47]).toString('base64');

/** Sends parts, and checks that the server has them as they were sent. */
async function keptParts(peer, ...parts) {
  const task = aTask(await peer.send(['echo with parts', ...parts]), 'completed');
  const want = parts.map((each) => ({ ...each, name: peer.namesFiles ? each.name : '' }));
  same('parts kept', (await peer.get(task.id)).history[0].parts.slice(1), want);
}

/** Each by the name of its operation. */
export const scenarios = {
  async card(peer) {
    expect(peer.card.name, 'a card without a name');
    expect(peer.card.streaming, 'the card says that the agent does not stream');
    expect(peer.card.push, 'the card says that the agent has no webhooks');
    return peer.card.bindings.join(', ');
  },

  async extended_card(peer) {
    const extended = await peer.extendedCard();
    same('name', extended.name, peer.card.name);
    expect(peer.card.extended, 'the card does not say that there is an extended one');
    expect(extended.description !== peer.card.description, 'the public card in place of the extended one');
    return extended.description;
  },

  async send(peer) {
    const task = aTask(await peer.send('echo hello'), 'completed');
    same('text', textIn(task), 'hello');
    same('what was asked', textOf(task.history[0].parts), 'echo hello');
    same('who asked', task.history[0].role, 'user');
    return task.id;
  },

  async send_text(peer) {
    for (const text of ['Grüße, 世界 🌍 "quoted" \\ \u2028 end,\n\ttab', 'x'.repeat(100_000)]) {
      same('text', textIn(aTask(await peer.send(`echo ${text}`), 'completed')), text);
    }
  },

  async send_context(peer) {
    const context = `context-${randomUUID()}`;
    const first = aTask(await peer.send('echo one', { context }), 'completed');
    const second = aTask(await peer.send('echo two', { context }), 'completed');
    same('contexts', [first.context, second.context], [context, context]);
    expect(first.id !== second.id, 'two tasks with one id');
  },

  async send_history(peer) {
    same('history of one', aTask(await peer.send('echo hello', { history: 1 }), 'completed').history.length, 1);
    if (!peer.asksForNoHistory) return;
    same('history of none', aTask(await peer.send('echo hello', { history: 0 }), 'completed').history, []);
  },

  async return_immediately(peer) {
    const task = await started(peer, 'wait 400');
    const done = await ended(peer, task.id);
    same('state', done.state, 'completed');
    same('context', done.context, task.context);
  },

  async direct_message(peer) {
    const answer = await peer.send('say hello there');
    same('kind of answer', answer.kind, 'message');
    same('text', textOf(answer.parts), 'hello there');
    same('role', answer.role, 'agent');
    expect(answer.id && answer.context && !answer.task, `ids of a message without a task: ${JSON.stringify(answer)}`);
  },

  async file_bytes(peer) {
    await keptParts(peer, part('bytes', allBytes, 'all bytes.bin', 'application/octet-stream'));
    const task = aTask(await peer.send('file report.bin 1000'), 'completed');
    const [file] = partsIn(task).filter((each) => each.kind === 'bytes');
    same('size', Buffer.from(file.value, 'base64').length, 1000);
    same('name', file.name, peer.namesFiles ? 'report.bin' : '');
    return file.mediaType;
  },

  async file_url(peer) {
    await keptParts(peer, part('url', 'https://files.example/a%20b.bin', 'a b.bin', 'application/octet-stream'));
    const task = aTask(await peer.send('url https://files.example/x?y=1&z=%20'), 'completed');
    same('addresses', partsIn(task).filter((each) => each.kind === 'url').map((each) => each.value),
      ['https://files.example/x?y=1&z=%20']);
  },

  async data(peer) {
    const list = [1, 2.5, -3, 'x', null, true].filter((value) => peer.sendsNull || value !== null);
    const value = { nested: { list, empty: {}, none: [] }, ü: 'é' };
    await keptParts(peer, part('data', value));
    const task = aTask(await peer.send(`data ${JSON.stringify(value)}`), 'completed');
    same('data', partsIn(task).filter((each) => each.kind === 'data').map((each) => each.value), [value]);
  },

  async failed(peer) {
    same('reason', said(aTask(await peer.send('fail it broke'), 'failed')), 'it broke');
  },

  async rejected(peer) {
    same('reason', said(aTask(await peer.send('reject not for me'), 'rejected')), 'not for me');
  },

  async input_required(peer) {
    const asked = aTask(await peer.send('ask which colour?'), 'input-required');
    same('question', said(asked), 'which colour?');
    same('state kept', (await peer.get(asked.id)).state, 'input-required');
    let done = aTask(await peer.send('blue', { task: asked.id, context: asked.context }), 'completed');
    same('ids', [done.id, done.context], [asked.id, asked.context]);
    const again = aTask(await peer.send('ask which size?'), 'input-required');
    done = aTask(await peer.send('large', { task: again.id }), 'completed');
    same('context that was not repeated', done.context, again.context);
  },

  async auth_required(peer) {
    const asked = aTask(await peer.send('auth'), 'auth-required');
    const done = aTask(await peer.send('here you are', { task: asked.id, context: asked.context }), 'completed');
    same('ids', [done.id, done.context], [asked.id, asked.context]);
  },

  async stream(peer) {
    const events = await listened(peer.stream('echo hello'));
    const task = coherent(events, 'completed');
    same('text', textIn(task), 'hello');
    await agrees(peer, task);
    return events.map((event) => event.kind).join(', ');
  },

  async stream_message(peer) {
    const events = await listened(peer.stream('say hello there'));
    same('kinds of events', events.map((event) => event.kind), ['message']);
    same('text', textOf(events[0].parts), 'hello there');
  },

  async stream_chunks(peer) {
    const events = await listened(peer.stream('chunks 6 20'));
    const task = coherent(events, 'completed');
    const chunks = events.filter((event) => event.kind === 'chunk');
    const appended = chunks.map((chunk) => chunk.append).filter((append) => append !== undefined);
    if (appended.length > 0) same('appended', appended, [false, true, true, true, true, true]);
    same('last', chunks.map((chunk) => chunk.last), [false, false, false, false, false, true]);
    expect(textIn(task), 'chunks without text');
    await agrees(peer, task);
  },

  async stream_burst(peer) {
    const events = await listened(peer.stream('burst 500'));
    await agrees(peer, coherent(events, 'completed'));
    expect(events.length > 500, `${events.length} events`);
  },

  async stream_failed(peer) {
    same('reason', said(coherent(await listened(peer.stream('fail it broke')), 'failed')), 'it broke');
  },

  async stream_input_required(peer) {
    const asked = coherent(await listened(peer.stream('ask which colour?')), 'input-required');
    same('question', said(asked), 'which colour?');
    const answer = peer.stream('blue', { task: asked.id, context: asked.context });
    const done = coherent(await listened(answer), 'completed');
    same('ids', [done.id, done.context], [asked.id, asked.context]);
  },

  async stream_left(peer) {
    let first;
    for await (const event of peer.stream('chunks 4 100')) {
      first = event;
      break;
    }
    same('kind of the first event', first.kind, 'task');
    const done = await ended(peer, first.id);
    same('state', done.state, 'completed');
    same('text', textIn(done), textIn(coherent(await listened(peer.stream('chunks 4 1')), 'completed')));
  },

  async get(peer) {
    const asked = aTask(await peer.send('ask which colour?'), 'input-required');
    const done = aTask(await peer.send('blue', { task: asked.id }), 'completed');
    const whole = await peer.get(done.id);
    same('ids', [whole.id, whole.context, whole.state], [done.id, done.context, 'completed']);
    const user = whole.history.filter((message) => message.role === 'user');
    same('what was said', user.map((message) => textOf(message.parts)), ['ask which colour?', 'blue']);
    same('history of one', (await peer.get(done.id, 1)).history, whole.history.slice(-1));
    if (peer.asksForNoHistory) same('history of none', (await peer.get(done.id, 0)).history, []);
  },

  async list_tasks(peer) {
    const contextId = `context-${randomUUID()}`;
    const first = aTask(await peer.send('echo one', { context: contextId }), 'completed');
    const second = aTask(await peer.send('fail two', { context: contextId }), 'failed');
    let page = await peer.list({ contextId });
    same('tasks, newest first', page.tasks.map((task) => task.id), [second.id, first.id]);
    same('total and next', [page.total, page.next], [2, '']);
    same('artifacts', page.tasks.map((task) => task.artifacts), [[], []]);
    page = await peer.list({ contextId, status: 'TASK_STATE_COMPLETED', includeArtifacts: true });
    same('completed tasks', page.tasks.map((task) => [task.id, textIn(task)]), [[first.id, 'one']]);
    same('tasks of nobody', (await peer.list({ contextId: 'no-such-context' })).tasks, []);
  },

  async list_pages(peer) {
    const contextId = `context-${randomUUID()}`;
    const made = [];
    for (const number of [1, 2, 3]) made.push((await peer.send(`echo ${number}`, { context: contextId })).id);
    const page = await peer.list({ contextId, pageSize: 2 });
    same('first page', [page.tasks.length, page.size, page.total], [2, 2, 3]);
    expect(page.next, 'no token for the next page');
    const rest = await peer.list({ contextId, pageSize: 2, pageToken: page.next });
    same('last page', [rest.tasks.length, rest.total, rest.next], [1, 3, '']);
    same('all tasks', [...page.tasks, ...rest.tasks].map((task) => task.id).sort(), made.sort());
  },

  async cancel(peer) {
    const task = await started(peer, 'wait 60000');
    const canceled = aTask(await peer.cancel(task.id), 'canceled');
    same('ids', [canceled.id, canceled.context], [task.id, task.context]);
    same('state kept', (await peer.get(task.id)).state, 'canceled');
    same('canceled again', (await peer.cancel(task.id)).state, 'canceled');
  },

  async cancel_waiting(peer) {
    const asked = aTask(await peer.send('ask which colour?'), 'input-required');
    aTask(await peer.cancel(asked.id), 'canceled');
  },

  async subscribe(peer) {
    const task = await started(peer, 'chunks 6 100');
    const events = await listened(peer.subscribe(task.id));
    const seen = coherent(events, 'completed');
    same('id', seen.id, task.id);
    expect(events.some((event) => event.kind === 'chunk'), 'no chunk was left to see');
    await agrees(peer, seen);
  },

  async subscribe_canceled(peer) {
    const task = await started(peer, 'wait 60000');
    const events = [];
    for await (const event of peer.subscribe(task.id)) {
      if (events.push(event) === 1) await peer.cancel(task.id);
    }
    coherent(events, 'canceled');
  },

  async subscribe_waiting(peer) {
    const asked = aTask(await peer.send('ask which colour?'), 'input-required');
    const events = [];
    for await (const event of peer.subscribe(asked.id)) {
      if (events.push(event) > 1) continue;
      same('state at first', event.state, 'input-required');
      aTask(await peer.send('blue', { task: asked.id }), 'completed');
    }
    coherent(events, 'completed');
  },

  unknown_get: (peer) => refused(peer, 'TaskNotFound', () => peer.get('no-such-task')),
  unknown_cancel: (peer) => refused(peer, 'TaskNotFound', () => peer.cancel('no-such-task')),
  unknown_subscribe: (peer) => refused(peer, 'TaskNotFound', () => peer.subscribe('no-such-task')),
  unknown_send: (peer) => refused(peer, 'TaskNotFound', () => peer.send('echo hello', { task: 'no-such-task' })),
  unknown_stream: (peer) => refused(peer, 'TaskNotFound', () => peer.stream('echo hello', { task: 'no-such-task' })),

  async finished_send(peer) {
    const { id: task, context } = await finished(peer);
    return refused(peer, 'UnsupportedOperation', () => peer.send('echo more', { task, context }));
  },

  async finished_stream(peer) {
    const { id: task, context } = await finished(peer);
    return refused(peer, 'UnsupportedOperation', () => peer.stream('echo more', { task, context }));
  },

  async finished_cancel(peer) {
    const { id } = await finished(peer);
    return refused(peer, 'TaskNotCancelable', () => peer.cancel(id));
  },

  async finished_subscribe(peer) {
    const { id } = await finished(peer);
    return refused(peer, 'UnsupportedOperation', () => peer.subscribe(id));
  },

  async other_context(peer) {
    const { id: task } = aTask(await peer.send('ask which colour?'), 'input-required');
    const why = await refused(peer, 'InvalidParams', () => peer.send('blue', { task, context: 'another' }));
    same('state kept', (await peer.get(task)).state, 'input-required');
    return why;
  },

  no_parts: (peer) => refused(peer, 'InvalidParams', () => peer.send([])),

  async negative_history(peer) {
    const { id } = await finished(peer);
    await refused(peer, 'InvalidParams', () => peer.send('echo hello', { history: -1 }));
    return refused(peer, 'InvalidParams', () => peer.get(id, -1));
  },

  async page_size(peer) {
    for (const pageSize of [0, 101, -1]) await refused(peer, 'InvalidParams', () => peer.list({ pageSize }));
  },

  page_token: (peer) => refused(peer, 'InvalidParams', () => peer.list({ pageToken: 'garbled' })),

  content_type: (peer) => refused(peer, 'ContentTypeNotSupported',
    () => peer.ofLittle.send(['hello', part('bytes', 'TVo=', 'a.exe', 'application/x-msdownload')])),

  version: (peer) => refused(peer, 'VersionNotSupported', () => peer.sendAs('9.9')),
};
