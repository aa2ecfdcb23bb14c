// Scenarios of webhooks: registration and delivery.

import { randomUUID } from 'node:crypto';
import {
  checkStored, checkStream, collect, expect, expectEqual, expectError, expectTask, finishedTask, foldEvents, taskText,
  terminalStates,
} from './checks.mjs';
import { withReceiver } from './receiver.mjs';

const unreachableUrl = 'http://127.0.0.1:9/hook?id=none';
const chunks = 4;

const webhook = (url = unreachableUrl, id = 'hook') => (
  { id, url, token: `token-${randomUUID()}`, scheme: 'Basic', credentials: 'dXNlcjpwYXNzd29yZA==' });

/** Receives the deliveries to a webhook until its task is terminal. */
async function receiveEvents(peer, hook, deliveries) {
  const credentials = hook.scheme ? `${hook.scheme} ${hook.credentials}` : `Bearer ${hook.token}`;
  const events = [];
  for await (const [delivery] of deliveries) {
    expectEqual('token', delivery.headers['x-a2a-notification-token'], hook.token);
    expectEqual('credentials', delivery.headers.authorization, credentials);
    const event = peer.parseDelivery(delivery);
    events.push(event);
    if (terminalStates.has(event.state)) return events;
  }
}

/** Returns the task after each of its events. */
const taskAfterEachEvent = (events) => events.map((_, last) => foldEvents(events.slice(0, last + 1)));

/** Checks that an agent without webhooks rejects a call about the webhooks of a task. */
const expectNoWebhooks = (call) => async (peer) => {
  const { id } = await finishedTask(peer.minimal);
  return expectError(peer, 'PushNotificationNotSupported', () => call(peer.minimal, id));
};

/** Scenarios by operation. */
export const scenarios = {
  async push_create(peer) {
    const { id } = await finishedTask(peer);
    const hook = webhook();
    expectEqual('webhook', await peer.createWebhook(id, hook), hook);
    const bare = { id: 'bare', url: unreachableUrl, token: '', scheme: '', credentials: '' };
    expectEqual('webhook with only a URL', await peer.createWebhook(id, bare), bare);
    await expectError(peer, 'InvalidParams', () => peer.createWebhook(id, webhook('ftp://127.0.0.1/hook')));
    return expectError(peer, 'TaskNotFound', () => peer.createWebhook('no-such-task', hook));
  },

  async push_get(peer) {
    const { id } = await finishedTask(peer);
    const message = await expectError(peer, 'TaskNotFound', () => peer.getWebhook(id, 'one'));
    for (const each of [webhook(unreachableUrl, 'one'), webhook(unreachableUrl, 'two')]) {
      await peer.createWebhook(id, each);
      expectEqual('webhook', await peer.getWebhook(id, each.id), each);
    }
    await expectError(peer, 'TaskNotFound', () => peer.getWebhook(id, 'three'));
    return message;
  },

  async push_list(peer) {
    const { id } = await finishedTask(peer);
    expectEqual('initial webhooks', await peer.listWebhooks(id), []);
    const [one, two, other] = ['one', 'two', 'one'].map((name) => webhook(unreachableUrl, name));
    for (const each of [one, two]) await peer.createWebhook(id, each);
    expectEqual('webhooks', await peer.listWebhooks(id), [one, two]);
    await peer.createWebhook(id, other);
    expectEqual('webhooks after a replacement', await peer.listWebhooks(id), [other, two]);
    return expectError(peer, 'TaskNotFound', () => peer.listWebhooks('no-such-task'));
  },

  async push_delete(peer) {
    const { id } = await finishedTask(peer);
    const [one, two] = ['one', 'two'].map((name) => webhook(unreachableUrl, name));
    for (const each of [one, two]) await peer.createWebhook(id, each);
    for (const _ of [1, 2]) {
      await peer.deleteWebhook(id, 'one');
      expectEqual('remaining webhooks', await peer.listWebhooks(id), [two]);
      await expectError(peer, 'TaskNotFound', () => peer.getWebhook(id, 'one'));
    }
    return expectError(peer, 'TaskNotFound', () => peer.deleteWebhook('no-such-task', 'one'));
  },

  push_send: (peer) => withReceiver(async (url, deliveries) => {
    const hook = webhook(url);
    const { id, context } = expectTask(await peer.send(`chunks ${chunks} 20`, { push: hook }), 'completed');
    const events = await receiveEvents(peer, hook, deliveries);
    if (!peer.webhooksSendTasks) checkStream(events, 'completed');
    const tasks = peer.webhooksSendTasks ? events : taskAfterEachEvent(events);
    for (const task of tasks) expectEqual('ids', [task.id, task.context], [id, context]);
    const texts = tasks.map(taskText);
    const isExtended = (text, index) => index === 0 || text.startsWith(texts[index - 1]);
    expect(texts.every(isExtended), `texts out of order: ${texts}`);
    expectEqual('number of distinct texts', new Set(texts).size, 1 + chunks);
    await checkStored(peer, tasks.at(-1));
    return events.map((event) => event.kind).join(', ');
  }),

  push_stream: (peer) => withReceiver(async (url, deliveries) => {
    const hook = webhook(url);
    const events = await collect(peer.stream(`chunks ${chunks} 20`, { push: hook }));
    const received = await receiveEvents(peer, hook, deliveries);
    checkStream(events, 'completed');
    if (!peer.webhooksSendTasks) return expectEqual('events', received, events);
    const withoutHistory = (task) => ({ ...task, history: [] });
    return expectEqual('tasks', received.map(withoutHistory), taskAfterEachEvent(events).map(withoutHistory));
  }),

  push_later: (peer) => withReceiver(async (url, deliveries) => {
    const { id: task, context } = expectTask(await peer.send('ask which colour?'), 'input-required');
    const hook = { ...webhook(url), scheme: '', credentials: '' };
    await peer.createWebhook(task, hook);
    expectTask(await peer.send('blue', { task, context }), 'completed');
    const events = await receiveEvents(peer, hook, deliveries);
    const states = events.map((event) => event.state).filter((state) => state);
    expect(!states.includes('input-required'), `events before the registration were delivered: ${states}`);
    expectEqual('last state', states.at(-1), 'completed');
    return states.join(', ');
  }),

  async no_push_create(peer) {
    expect(!peer.minimal.card.push, 'the card declares push notifications');
    return expectNoWebhooks((minimal, id) => minimal.createWebhook(id, webhook()))(peer);
  },
  no_push_get: expectNoWebhooks((minimal, id) => minimal.getWebhook(id, 'hook')),
  no_push_list: expectNoWebhooks((minimal, id) => minimal.listWebhooks(id)),
  no_push_delete: expectNoWebhooks((minimal, id) => minimal.deleteWebhook(id, 'hook')),
  no_push_send: (peer) => expectError(peer, 'PushNotificationNotSupported',
    () => peer.minimal.send('echo hello', { push: webhook() })),
};
