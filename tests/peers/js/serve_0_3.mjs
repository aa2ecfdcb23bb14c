// Server of @a2a-js/sdk 0.3 over JSON-RPC, HTTP+JSON and gRPC. A message contains an instruction.

import crypto from 'node:crypto';
import express from 'express';
import grpc from '@grpc/grpc-js';
import * as server from 'a2a-0.3/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from 'a2a-0.3/server/express';
import { A2AService, grpcService } from 'a2a-0.3/server/grpc';
import { readCard } from './cards.mjs';
import * as demo from './demo.mjs';

const isDemo = process.argv.includes('--demo');
const userBuilder = UserBuilder.noAuthentication;
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
for (const level of ['log', 'info', 'warn', 'error', 'debug']) console[level] = () => {};

/** Publishes the events of one task. */
class Updater {
  constructor(bus, taskId, contextId) {
    Object.assign(this, { bus, taskId, contextId });
  }

  message(parts, metadata) {
    const { taskId, contextId } = this;
    const content = typeof parts === 'string' ? [{ kind: 'text', text: parts }] : parts;
    return { kind: 'message', messageId: crypto.randomUUID(), taskId, contextId, role: 'agent', parts: content, metadata };
  }

  status(state, message, { final = false, metadata } = {}) {
    const { taskId, contextId } = this;
    const status = { state, message, timestamp: new Date().toISOString() };
    this.bus.publish({ kind: 'status-update', taskId, contextId, status, final, metadata });
  }

  artifact(artifact, append, lastChunk) {
    const { taskId, contextId } = this;
    this.bus.publish({ kind: 'artifact-update', taskId, contextId, artifact, append, lastChunk });
  }
}

const text = (value) => [{ kind: 'text', text: value }];
const final = { final: true };

/** Instructions by name. */
const instructions = {
  complete(updater) {
    updater.status('working', updater.message('on it'));
    updater.artifact({ artifactId: 'a1', name: 'result', parts: text('done') });
    updater.status('completed', undefined, final);
  },
  echo(updater, { parts, extensions }) {
    updater.status('working');
    updater.artifact({ artifactId: 'a1', name: 'echo', parts, extensions, metadata: { count: parts.length } });
    updater.status('completed', updater.message(parts, { from: 'agent' }), { ...final, metadata: { took: 1.5 } });
  },
  chunks(updater) {
    updater.status('working');
    ['one ', 'two ', 'three'].forEach((chunk, number) => {
      updater.artifact({ artifactId: 'a1', name: 'counted', parts: text(chunk) }, number > 0, number === 2);
    });
    updater.artifact({ artifactId: 'a2', name: 'single', parts: text('whole') }, false, true);
    updater.status('completed', updater.message('all sent'), final);
  },
  async drip(updater, message) {
    const [count, pause] = message.parts[0].text.split(' ').slice(1).map(Number);
    updater.status('working');
    for (let number = 0; number < count; number += 1) {
      updater.artifact({ artifactId: 'a1', parts: text(`${number} `) }, number > 0, number === count - 1);
      await sleep(pause);
    }
    updater.status('completed', undefined, final);
  },
  fail(updater) {
    updater.status('working');
    updater.status('failed', updater.message('it broke'), final);
  },
  reject: (updater) => updater.status('rejected', updater.message('not for me'), final),
  input: (updater) => updater.status('input-required', updater.message('which one?'), final),
  auth: (updater) => updater.status('auth-required', updater.message('log in first'), final),
  async slow(updater) {
    updater.status('working');
    await sleep(600);
    updater.artifact({ artifactId: 'a1', parts: text('late') });
    updater.status('completed', undefined, final);
  },
  async hang(updater, message, canceled) {
    updater.status('working');
    await canceled;
    updater.status('canceled', updater.message('stopped'), final);
  },
  crash(updater) {
    updater.status('working');
    throw new Error('the agent crashed');
  },
  refuse(updater, message) {
    throw server.A2AError[message.parts[0].text.split(' ')[1]]('refused by the agent');
  },
};

/** Runs the instructions of the `latimer demo-server` agent. */
async function runDemoInstruction(updater, instruction, canceled) {
  const stop = canceled.then(() => 'stop');
  for (const { state, statusText, part, append, last, pause } of demo.steps(instruction)) {
    if (state) {
      const name = state.toLowerCase().replace('_', '-');
      updater.status(name, statusText && updater.message(statusText), { final: state !== 'WORKING' });
    }
    if (part) updater.artifact({ artifactId: 'a1', parts: [demo.toV03(part)] }, append, last);
    if (pause !== undefined && await Promise.race([stop, sleep(pause)]) === 'stop') {
      updater.status('canceled', updater.message('stopped'), final);
      return;
    }
  }
}

/** Runs the instruction named by the first word of the message. */
class FixtureAgent {
  cancels = new Map();

  async execute(context, bus) {
    const { taskId, contextId, userMessage: message } = context;
    const instruction = message.parts?.[0]?.text;
    const name = instruction?.split(' ')[0] ?? 'complete';
    const reply = isDemo ? demo.reply(instruction) : name === 'direct' && 'hello back';
    if (reply) {
      bus.publish({ kind: 'message', messageId: 'reply-1', contextId, role: 'agent', parts: text(reply) });
      bus.finished();
      return;
    }
    if (!context.task && name !== 'refuse') {
      const status = { state: 'submitted', timestamp: new Date().toISOString() };
      bus.publish({ kind: 'task', id: taskId, contextId, status, history: [message] });
    }
    for (const uri of message.extensions ?? []) context.context?.addActivatedExtension(uri);
    const canceled = new Promise((resolve) => this.cancels.set(taskId, resolve));
    const updater = new Updater(bus, taskId, contextId);
    if (isDemo) await runDemoInstruction(updater, instruction, canceled);
    else await instructions[name](updater, message, canceled);
    bus.finished();
  }

  async cancelTask(taskId) {
    this.cancels.get(taskId)?.();
  }
}

function loadCard(kind) {
  const data = readCard('0.3.json', kind);
  delete data.capabilities.extensions[0].params.none; // this SDK cannot encode null over gRPC
  if (isDemo) data.defaultInputModes = ['*/*'];
  if (kind === 'full') return data;
  const enabled = kind === 'half';
  data.name = `Fixture Agent (${kind})`;
  data.skills = data.skills.slice(1);
  data.capabilities = { streaming: enabled, pushNotifications: enabled };
  data.supportsAuthenticatedExtendedCard = enabled;
  delete data.securitySchemes;
  delete data.security;
  return data;
}

function handlerFor(kind) {
  const card = loadCard(kind);
  const agent = new FixtureAgent();
  const tasks = new server.InMemoryTaskStore();
  if (kind !== 'full') return new server.DefaultRequestHandler(card, tasks, agent);
  const configs = new server.InMemoryPushNotificationStore();
  const secret = { id: 'secret', name: 'Secret', description: 'Only for known callers.', tags: ['extended'] };
  const extended = { ...card, name: 'Fixture Agent, extended', skills: [...card.skills, secret] };
  return new server.DefaultRequestHandler(
    card, tasks, agent, undefined, configs, new server.DefaultPushNotificationSender(configs), extended);
}

async function start(kind) {
  const requestHandler = handlerFor(kind);
  const app = express();
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  const rpc = jsonRpcHandler({ requestHandler, userBuilder });
  app.use((request, response, next) => (request.path === '/' ? rpc(request, response, next) : next()));
  app.use(restHandler({ requestHandler, userBuilder }));
  const http = await new Promise((resolve) => {
    const listener = app.listen(0, '127.0.0.1', () => resolve(listener.address().port));
  });
  const service = new grpc.Server();
  service.addService(A2AService, grpcService({ requestHandler, userBuilder }));
  const port = await new Promise((resolve, reject) => {
    service.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound));
  });
  const prefix = kind === 'full' ? '' : `${kind}_`;
  return { [`${prefix}http`]: http, [`${prefix}grpc`]: port };
}

const ports = {};
for (const kind of ['full', 'bare', 'half']) Object.assign(ports, await start(kind));
process.stdout.write(`${JSON.stringify(ports)}\n`);
