// What a client asks about webhooks, and what these are sent.

import { randomUUID } from 'node:crypto';
import { aTask, agrees, coherent, expect, finished, folded, listened, over, refused, same, textIn } from './checks.mjs';
import { receiving } from './receiver.mjs';

const nowhere = 'http://127.0.0.1:9/hook?of=nobody';
const pieces = 4;

const webhook = (url = nowhere, id = 'hook') => (
  { id, url, token: `token-${randomUUID()}`, scheme: 'Basic', credentials: 'dXNlcjpwYXNzd29yZA==' });

/** All that a webhook is sent, to the end of its task. */
async function heard(peer, hook, deliveries) {
  const credentials = hook.scheme ? `${hook.scheme} ${hook.credentials}` : `Bearer ${hook.token}`;
  const events = [];
  for await (const [delivery] of deliveries) {
    same('token', delivery.headers['x-a2a-notification-token'], hook.token);
    same('credentials', delivery.headers.authorization, credentials);
    const event = peer.heard(delivery);
    events.push(event);
    if (over.has(event.state)) return events;
  }
}

/** The task as it is after each of its events. */
const inBetween = (events) => events.map((_, last) => folded(events.slice(0, last + 1)));

/** What an agent without webhooks says to a call about those of a task. */
const without = (call) => async (peer) => {
  const { id } = await finished(peer.ofLittle);
  return refused(peer, 'PushNotificationNotSupported', () => call(peer.ofLittle, id));
};

/** Each by the name of its operation. */
export const scenarios = {
  async push_create(peer) {
    const { id } = await finished(peer);
    const hook = webhook();
    same('webhook', await peer.createWebhook(id, hook), hook);
    const bare = { id: 'bare', url: nowhere, token: '', scheme: '', credentials: '' };
    same('webhook with no more than an address', await peer.createWebhook(id, bare), bare);
    await refused(peer, 'InvalidParams', () => peer.createWebhook(id, webhook('ftp://127.0.0.1/hook')));
    return refused(peer, 'TaskNotFound', () => peer.createWebhook('no-such-task', hook));
  },

  async push_get(peer) {
    const { id } = await finished(peer);
    const why = await refused(peer, 'TaskNotFound', () => peer.getWebhook(id, 'one'));
    for (const each of [webhook(nowhere, 'one'), webhook(nowhere, 'two')]) {
      await peer.createWebhook(id, each);
      same('webhook', await peer.getWebhook(id, each.id), each);
    }
    await refused(peer, 'TaskNotFound', () => peer.getWebhook(id, 'three'));
    return why;
  },

  async push_list(peer) {
    const { id } = await finished(peer);
    same('webhooks at first', await peer.listWebhooks(id), []);
    const [one, two, other] = ['one', 'two', 'one'].map((name) => webhook(nowhere, name));
    for (const each of [one, two]) await peer.createWebhook(id, each);
    same('webhooks', await peer.listWebhooks(id), [one, two]);
    await peer.createWebhook(id, other);
    same('webhooks in the end', await peer.listWebhooks(id), [other, two]);
    return refused(peer, 'TaskNotFound', () => peer.listWebhooks('no-such-task'));
  },

  async push_delete(peer) {
    const { id } = await finished(peer);
    const [one, two] = ['one', 'two'].map((name) => webhook(nowhere, name));
    for (const each of [one, two]) await peer.createWebhook(id, each);
    for (const _ of ['once', 'again']) {
      await peer.deleteWebhook(id, 'one');
      same('webhooks left', await peer.listWebhooks(id), [two]);
      await refused(peer, 'TaskNotFound', () => peer.getWebhook(id, 'one'));
    }
    return refused(peer, 'TaskNotFound', () => peer.deleteWebhook('no-such-task', 'one'));
  },

  push_send: (peer) => receiving(async (url, deliveries) => {
    const hook = webhook(url);
    const { id, context } = aTask(await peer.send(`chunks ${pieces} 20`, { push: hook }), 'completed');
    const events = await heard(peer, hook, deliveries);
    if (!peer.hearsOfTasks) coherent(events, 'completed');
    const tasks = peer.hearsOfTasks ? events : inBetween(events);
    for (const task of tasks) same('ids', [task.id, task.context], [id, context]);
    const texts = tasks.map(textIn);
    expect(texts.every((text, at) => at === 0 || text.startsWith(texts[at - 1])), `out of order: ${texts}`);
    same('texts that differ', new Set(texts).size, 1 + pieces);
    await agrees(peer, tasks.at(-1));
    return events.map((event) => event.kind).join(', ');
  }),

  push_stream: (peer) => receiving(async (url, deliveries) => {
    const hook = webhook(url);
    const events = await listened(peer.stream(`chunks ${pieces} 20`, { push: hook }));
    const heardOf = await heard(peer, hook, deliveries);
    coherent(events, 'completed');
    if (!peer.hearsOfTasks) return same('events', heardOf, events);
    const whole = (task) => ({ ...task, history: [] });
    return same('tasks', heardOf.map(whole), inBetween(events).map(whole));
  }),

  push_later: (peer) => receiving(async (url, deliveries) => {
    const { id: task, context } = aTask(await peer.send('ask which colour?'), 'input-required');
    const hook = { ...webhook(url), scheme: '', credentials: '' };
    await peer.createWebhook(task, hook);
    aTask(await peer.send('blue', { task, context }), 'completed');
    const events = await heard(peer, hook, deliveries);
    const states = events.map((event) => event.state).filter((state) => state);
    expect(!states.includes('input-required'), `what came before: ${states}`);
    same('last state', states.at(-1), 'completed');
    return states.join(', ');
  }),

  async no_push_create(peer) {
    expect(!peer.ofLittle.card.push, 'the card says that the agent has webhooks');
    return without((little, id) => little.createWebhook(id, webhook()))(peer);
  },
  no_push_get: without((little, id) => little.getWebhook(id, 'hook')),
  no_push_list: without((little, id) => little.listWebhooks(id)),
  no_push_delete: without((little, id) => little.deleteWebhook(id, 'hook')),
  no_push_send: (peer) => refused(peer, 'PushNotificationNotSupported',
    () => peer.ofLittle.send('echo hello', { push: webhook() })),
};
