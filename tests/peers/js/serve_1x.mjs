// Server of @a2a-js/sdk 1.x over JSON-RPC, HTTP+JSON and gRPC. A message contains an instruction.

import crypto from 'node:crypto';
import express from 'express';
import grpc from '@grpc/grpc-js';
import * as a2a from 'a2a-1.x';
import * as errors from 'a2a-1.x/errors';
import * as server from 'a2a-1.x/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from 'a2a-1.x/server/express';
import { A2AService, grpcService } from 'a2a-1.x/server/grpc';
import { createLegacyAwarePushNotificationSender } from 'a2a-1.x/compat/v0_3/server';
import { LegacyA2AService, legacyGrpcService } from 'a2a-1.x/compat/v0_3/server/grpc';
import { readCard } from './cards.mjs';
import * as demo from './demo.mjs';

const compat = process.argv.includes('--compat');
const isDemo = process.argv.includes('--demo');
const { AgentEvent } = server;
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
    const content = typeof parts === 'string' ? [{ text: parts }] : parts;
    return { messageId: crypto.randomUUID(), taskId, contextId, role: 'ROLE_AGENT', parts: content, metadata };
  }

  status(state, message, metadata) {
    const { taskId, contextId } = this;
    const status = { state: `TASK_STATE_${state}`, message, timestamp: new Date().toISOString() };
    this.bus.publish(AgentEvent.statusUpdate(
      a2a.TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status, metadata })));
  }

  artifact(artifact, append = false, lastChunk = false) {
    const { taskId, contextId } = this;
    this.bus.publish(AgentEvent.artifactUpdate(
      a2a.TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact, append, lastChunk })));
  }
}

/** Instructions by name. */
const instructions = {
  complete(updater) {
    updater.status('WORKING', updater.message('on it'));
    updater.artifact({ artifactId: 'a1', name: 'result', parts: [{ text: 'done' }] });
    updater.status('COMPLETED');
  },
  echo(updater, message) {
    const { parts, extensions } = a2a.Message.toJSON(message);
    updater.status('WORKING');
    updater.artifact({ artifactId: 'a1', name: 'echo', parts, extensions, metadata: { count: parts.length } });
    updater.status('COMPLETED', updater.message(parts, { from: 'agent' }), { took: 1.5 });
  },
  chunks(updater) {
    updater.status('WORKING');
    ['one ', 'two ', 'three'].forEach((text, number) => {
      updater.artifact({ artifactId: 'a1', name: 'counted', parts: [{ text }] }, number > 0, number === 2);
    });
    updater.artifact({ artifactId: 'a2', name: 'single', parts: [{ text: 'whole' }] }, false, true);
    updater.status('COMPLETED', updater.message('all sent'));
  },
  async drip(updater, message) {
    const [count, pause] = message.parts[0].content.value.split(' ').slice(1).map(Number);
    updater.status('WORKING');
    for (let number = 0; number < count; number += 1) {
      updater.artifact({ artifactId: 'a1', parts: [{ text: `${number} ` }] }, number > 0, number === count - 1);
      await sleep(pause);
    }
    updater.status('COMPLETED');
  },
  fail(updater) {
    updater.status('WORKING');
    updater.status('FAILED', updater.message('it broke'));
  },
  reject: (updater) => updater.status('REJECTED', updater.message('not for me')),
  input: (updater) => updater.status('INPUT_REQUIRED', updater.message('which one?')),
  auth: (updater) => updater.status('AUTH_REQUIRED', updater.message('log in first')),
  async slow(updater) {
    updater.status('WORKING');
    await sleep(600);
    updater.artifact({ artifactId: 'a1', parts: [{ text: 'late' }] });
    updater.status('COMPLETED');
  },
  async hang(updater, message, canceled) {
    updater.status('WORKING');
    await canceled;
    updater.status('CANCELED', updater.message('stopped'));
  },
  crash(updater) {
    updater.status('WORKING');
    throw new Error('the agent crashed');
  },
  refuse(updater, message) {
    throw new errors[message.parts[0].content.value.split(' ')[1]]('refused by the agent');
  },
};

/** Runs the instructions of the `latimer demo-server` agent. */
async function runDemoInstruction(updater, instruction, canceled) {
  const stop = canceled.then(() => 'stop');
  for (const { state, statusText, part, append, last, pause } of demo.steps(instruction)) {
    if (state) updater.status(state, statusText && updater.message(statusText));
    if (part) updater.artifact({ artifactId: 'a1', parts: [part] }, append, last);
    if (pause !== undefined && await Promise.race([stop, sleep(pause)]) === 'stop') {
      updater.status('CANCELED', updater.message('stopped'));
      return;
    }
  }
}

/** Runs the instruction named by the first word of the message. */
class FixtureAgent {
  turns = new Map();

  async execute(context, bus) {
    const message = context.userMessage;
    const { taskId, contextId } = context;
    const instruction = message.parts[0]?.content?.value;
    const name = instruction?.split?.(' ')[0] ?? 'complete';
    const reply = isDemo ? demo.reply(instruction) : name === 'direct' && 'hello back';
    if (reply) {
      bus.publish(AgentEvent.message(a2a.Message.fromJSON({
        messageId: 'reply-1', contextId, role: 'ROLE_AGENT', parts: [{ text: reply }],
      })));
      bus.finished();
      return;
    }
    const status = { state: 'TASK_STATE_SUBMITTED', timestamp: new Date().toISOString() };
    if (name !== 'refuse') {
      const task = a2a.Task.fromJSON({ id: taskId, contextId, status, history: [a2a.Message.toJSON(message)] });
      bus.publish(AgentEvent.task(context.task ?? task));
    }
    for (const uri of message.extensions ?? []) context.context?.addActivatedExtension(uri);
    const turn = { contextId };
    const canceled = new Promise((resolve) => (turn.cancel = resolve));
    this.turns.set(taskId, turn);
    const updater = new Updater(bus, taskId, contextId);
    if (isDemo) await runDemoInstruction(updater, instruction, canceled);
    else await instructions[name](updater, message, canceled);
    turn.finished = true;
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    const { contextId, cancel, finished } = this.turns.get(taskId);
    cancel();
    if (!finished) return;
    // The task waits for input, and no turn is running that could report the cancellation.
    const updater = new Updater(bus, taskId, contextId);
    updater.status('CANCELED', updater.message('stopped'));
    bus.finished();
  }
}

function loadCard(kind) {
  const data = readCard('1.0.json', kind);
  if (kind !== 'full') {
    const enabled = kind === 'half';
    data.name = `Fixture Agent (${kind})`;
    data.skills = data.skills.slice(1);
    data.capabilities = { streaming: enabled, pushNotifications: enabled, extendedAgentCard: enabled };
    delete data.securitySchemes;
    delete data.securityRequirements;
  }
  if (isDemo) data.defaultInputModes = ['*/*'];
  if (compat) {
    delete data.securitySchemes?.device; // 0.3 has no such flow, and the conversion fails on it
    const plain = data.supportedInterfaces.filter((entry) => !entry.tenant);
    data.supportedInterfaces.push(...plain.map((entry) => ({ ...entry, protocolVersion: '0.3' })));
  }
  return a2a.AgentCard.fromJSON(data);
}

/** Creates the fixed signing key that the Python peers use: its seed is 32 bytes of value 7. */
function signingKey() {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]);
  return crypto.createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
}

async function handlerFor(kind, card) {
  const agent = new FixtureAgent();
  const tasks = new server.InMemoryTaskStore();
  if (kind !== 'full') return new server.DefaultRequestHandler(card, tasks, agent);
  const configs = new server.InMemoryPushNotificationStore();
  const sender = compat
    ? createLegacyAwarePushNotificationSender(configs) : new server.DefaultPushNotificationSender(configs);
  const extended = a2a.AgentCard.fromJSON(a2a.AgentCard.toJSON(card));
  extended.name = 'Fixture Agent, extended';
  extended.skills.push(a2a.AgentSkill.fromJSON(
    { id: 'secret', name: 'Secret', description: 'Only for known callers.', tags: ['extended'] }));
  const protectedHeader = { alg: 'EdDSA', kid: 'fixture-key', typ: 'JOSE', jku: 'https://agent.example/keys.json' };
  const sign = a2a.generateAgentCardSignature(signingKey(), protectedHeader, { note: 'unprotected' });
  return new server.DefaultRequestHandler(
    card, tasks, agent, undefined, configs, sender, extended, sign, { validateInputModes: !isDemo });
}

async function start(kind) {
  const requestHandler = await handlerFor(kind, loadCard(kind));
  const legacyCompat = compat ? { enabled: true } : undefined;
  const app = express();
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
  const rpc = jsonRpcHandler({ requestHandler, userBuilder, legacyCompat });
  app.use((request, response, next) => (request.path === '/' ? rpc(request, response, next) : next()));
  app.use(restHandler({ requestHandler, userBuilder, legacyCompat }));
  const requestedPort = kind === 'full' ? Number(process.env.PEER_HTTP ?? 0) : 0;
  const http = await new Promise((resolve) => {
    const listener = app.listen(requestedPort, '127.0.0.1', () => resolve(listener.address().port));
  });
  const service = new grpc.Server();
  service.addService(A2AService, grpcService({ requestHandler, userBuilder }));
  if (compat) service.addService(LegacyA2AService, legacyGrpcService({ requestHandler, userBuilder }));
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
