// Building blocks of the scenarios.

import { isDeepStrictEqual } from 'node:util';

/** Terminal task states. */
export const terminalStates = new Set(['completed', 'failed', 'canceled', 'rejected']);

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Throws an error with the message unless the condition holds. */
export function expect(condition, message) {
  if (!condition) throw new Error(message);
}

export function expectEqual(subject, actual, expected) {
  const format = (value) => JSON.stringify(value)?.slice(0, 300);
  expect(isDeepStrictEqual(actual, expected), `${subject}: expected ${format(expected)}, got ${format(actual)}`);
}

export const joinText = (parts) => parts.filter((each) => each.kind === 'text').map((each) => each.value).join('');
export const taskText = (task) => task.artifacts.map((artifact) => joinText(artifact.parts)).join('');
export const taskParts = (task) => task.artifacts.flatMap((artifact) => artifact.parts);
export const statusText = (task) => (task.message ? joinText(task.message.parts) : '');

/** Checks that a reply is a task in the given state, and returns it. */
export function expectTask(reply, state) {
  expectEqual('kind of reply', reply.kind, 'task');
  expect(reply.id && reply.context, 'the task has no id or context');
  expectEqual('state', reply.state, state);
  return reply;
}

/** Reads a stream to its end. */
export async function collect(events) {
  const collected = [];
  for await (const event of events) collected.push(event);
  return collected;
}

/** Awaits a call or reads a stream that must fail with an error of the given kind. Returns the error text. */
export async function expectError(peer, kind, call) {
  let reply;
  try {
    const value = call();
    reply = value[Symbol.asyncIterator] ? await collect(value) : await value;
  } catch (error) {
    const kinds = peer.errorKinds(error);
    expect(kinds.includes(kind), `expected ${kind}, got [${kinds}]: ${error}`);
    return String(error).slice(0, 200);
  }
  throw new Error(`expected ${kind}, got a reply: ${JSON.stringify(reply)}`.slice(0, 300));
}

/** Polls a task until it is terminal. */
export async function waitUntilTerminal(peer, id) {
  for (;;) {
    const task = await peer.get(id);
    if (terminalStates.has(task.state)) return task;
    await sleep(50);
  }
}

/** Creates a completed task. */
export const finishedTask = async (peer) => expectTask(await peer.send('echo over'), 'completed');

/** Starts a task, and returns while it is running. */
export async function startTask(peer, text) {
  const task = await peer.send(text, { wait: false });
  const isRunning = task.kind === 'task' && !terminalStates.has(task.state);
  expect(isRunning, `expected a running task, got ${JSON.stringify(task)}`);
  return task;
}

/** Returns the task that a stream of events describes. */
export function foldEvents([first, ...updates]) {
  const artifacts = new Map(first.artifacts.map((artifact) => [artifact.id, artifact.parts]));
  let { state, message } = first;
  for (const event of updates) {
    if (event.kind === 'status') {
      ({ state, message } = event);
    } else {
      const { id, parts } = event.artifact;
      const append = event.append ?? artifacts.has(id);
      expect(!append || artifacts.has(id), `a chunk appends to an unknown artifact: ${id}`);
      artifacts.set(id, append ? [...artifacts.get(id), ...parts] : parts);
    }
  }
  return { ...first, state, message, artifacts: [...artifacts].map(([id, parts]) => ({ id, parts })) };
}

/**
 * Checks that a stream begins with a snapshot, belongs to one task and ends in the given state. Returns the task that
 * its events describe.
 */
export function checkStream(events, last) {
  expect(events.length > 0, 'no events');
  const [task, ...updates] = events;
  expectEqual('kind of the first event', task.kind, 'task');
  for (const event of updates) {
    expect(event.kind === 'status' || event.kind === 'chunk', `${event.kind} after the first event`);
    expectEqual('task of an event', event.task, task.id);
    expectEqual('context of an event', event.context, task.context);
  }
  const statuses = updates.filter((event) => event.kind === 'status');
  const finals = statuses.map((event) => event.final);
  if (finals.some((final) => final !== undefined)) {
    expectEqual('final flags', finals, finals.map((_, index) => index === finals.length - 1));
  }
  const states = [task.state, ...statuses.map((event) => event.state)];
  expectEqual('last state', states.at(-1), last);
  expect(!states.slice(0, -1).some((state) => terminalStates.has(state)), `events after a terminal state: ${states}`);
  expect(events.length === 1 || events.at(-1).kind === 'status', `the last event is a ${events.at(-1).kind}`);
  return foldEvents(events);
}

/** Checks that the stored task equals the task that was streamed. */
export async function checkStored(peer, task) {
  const stored = await peer.get(task.id);
  expectEqual('stored state', stored.state, task.state);
  expectEqual('stored text', taskText(stored), taskText(task));
  expectEqual('stored artifacts', stored.artifacts.map((each) => each.id), task.artifacts.map((each) => each.id));
}
