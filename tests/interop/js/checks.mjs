// What scenarios are made of.

import { isDeepStrictEqual } from 'node:util';

/** States in which a task has ended. */
export const over = new Set(['completed', 'failed', 'canceled', 'rejected']);

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export function expect(condition, otherwise) {
  if (!condition) throw new Error(otherwise);
}

export function same(what, got, want) {
  const show = (value) => JSON.stringify(value)?.slice(0, 300);
  expect(isDeepStrictEqual(got, want), `${what}: ${show(got)} instead of ${show(want)}`);
}

export const textOf = (parts) => parts.filter((each) => each.kind === 'text').map((each) => each.value).join('');
export const textIn = (task) => task.artifacts.map((artifact) => textOf(artifact.parts)).join('');
export const partsIn = (task) => task.artifacts.flatMap((artifact) => artifact.parts);
export const said = (task) => (task.message ? textOf(task.message.parts) : '');

export function aTask(answer, state) {
  same('kind of answer', answer.kind, 'task');
  expect(answer.id && answer.context, 'a task without id or context');
  same('state', answer.state, state);
  return answer;
}

export async function listened(events) {
  const seen = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** Awaits a call, or reads a stream, that the server must refuse. */
export async function refused(peer, meaning, call) {
  let answer;
  try {
    const value = call();
    answer = value[Symbol.asyncIterator] ? await listened(value) : await value;
  } catch (error) {
    const meanings = peer.meanings(error);
    expect(meanings.includes(meaning), `${meaning} expected, got [${meanings}]: ${error}`);
    return String(error).slice(0, 200);
  }
  throw new Error(`${meaning} expected, got an answer: ${JSON.stringify(answer)}`.slice(0, 300));
}

export async function ended(peer, id) {
  for (;;) {
    const task = await peer.get(id);
    if (over.has(task.state)) return task;
    await sleep(50);
  }
}

export const finished = async (peer) => aTask(await peer.send('echo over'), 'completed');

export async function started(peer, text) {
  const task = await peer.send(text, { wait: false });
  expect(task.kind === 'task' && !over.has(task.state), `${JSON.stringify(task)} instead of a task that runs`);
  return task;
}

/** The task that a stream of events describes. */
export function folded([first, ...rest]) {
  const artifacts = new Map(first.artifacts.map((artifact) => [artifact.id, artifact.parts]));
  let { state, message } = first;
  for (const event of rest) {
    if (event.kind === 'status') {
      ({ state, message } = event);
    } else {
      const { id, parts } = event.artifact;
      const append = event.append ?? artifacts.has(id);
      expect(!append || artifacts.has(id), `a chunk for an artifact that is not there: ${id}`);
      artifacts.set(id, append ? [...artifacts.get(id), ...parts] : parts);
    }
  }
  return { ...first, state, message, artifacts: [...artifacts].map(([id, parts]) => ({ id, parts })) };
}

/** Checks that a stream is one task's, from its snapshot to `last`, and puts it together. */
export function coherent(events, last) {
  expect(events.length > 0, 'no events');
  const [task, ...rest] = events;
  same('kind of the first event', task.kind, 'task');
  for (const event of rest) {
    expect(event.kind === 'status' || event.kind === 'chunk', `${event.kind} after the first event`);
    same('task of an event', event.task, task.id);
    same('context of an event', event.context, task.context);
  }
  const statuses = rest.filter((event) => event.kind === 'status');
  const marks = statuses.map((event) => event.final);
  if (marks.some((mark) => mark !== undefined)) {
    same('final marks', marks, marks.map((_, number) => number === marks.length - 1));
  }
  const states = [task.state, ...statuses.map((event) => event.state)];
  same('last state', states.at(-1), last);
  expect(!states.slice(0, -1).some((state) => over.has(state)), `events after the end: ${states}`);
  expect(events.length === 1 || events.at(-1).kind === 'status', `the last event is a ${events.at(-1).kind}`);
  return folded(events);
}

/** Checks that what a stream said is what the server keeps. */
export async function agrees(peer, task) {
  const kept = await peer.get(task.id);
  same('state kept', kept.state, task.state);
  same('text kept', textIn(kept), textIn(task));
  same('artifacts kept', kept.artifacts.map((each) => each.id), task.artifacts.map((each) => each.id));
}
