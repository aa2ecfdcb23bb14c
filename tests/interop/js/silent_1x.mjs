// Streams from an agent that is silent for a while, with a client of @a2a-js/sdk 1.x and its default timeouts.
// Prints a JSON line with each event and the seconds until it arrived.

import { randomUUID } from 'node:crypto';
import grpc from '@grpc/grpc-js';
import * as a2a from 'a2a-1.x';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
} from 'a2a-1.x/client';
import { GrpcTransportFactory } from 'a2a-1.x/client/grpc';

const [base, binding] = process.argv.slice(2);
const names = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' };
const card = await new DefaultAgentCardResolver().resolve(base);
const supportedInterfaces = card.supportedInterfaces.filter((each) => each.protocolVersion !== '0.3');
const transports = [
  new JsonRpcTransportFactory(), new RestTransportFactory(),
  new GrpcTransportFactory({ grpcChannelCredentials: grpc.credentials.createInsecure() }),
].filter((factory) => factory.protocolName === names[binding]);
const client = await new ClientFactory({ transports }).createFromAgentCard({ ...card, supportedInterfaces });
const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
const start = Date.now();
for await (const event of client.sendMessageStream(a2a.SendMessageRequest.fromJSON({ message }))) {
  const { payload } = event;
  const state = payload.value.status && a2a.taskStateToJSON(payload.value.status.state);
  console.log(JSON.stringify({ kind: payload.$case, state, seconds: (Date.now() - start) / 1000 }));
}
process.exit(0);
