"""Server of a2a-sdk 1.x over JSON-RPC, HTTP+JSON and gRPC. A message contains an instruction."""

import seed  # noqa: F401  must be imported first

import asyncio
import json
import logging
import os
import sys

import grpc
import httpx
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import AgentCard, Message, Part, Role, Task, TaskState, TaskStatus
from a2a.utils import errors, signing
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

import cards
import demo
import recording_proxy

COMPAT = '--compat' in sys.argv
DEMO = '--demo' in sys.argv
SIGNING_SEED = bytes([7]) * 32


def text(value: str) -> list[Part]:
    return [Part(text=value)]


class FixtureAgent(AgentExecutor):
    """Runs the method named by the first word of the message: complete, direct, echo, chunks, drip, fail and so on."""

    async def execute(self, context, event_queue):
        message = context.message
        instruction = message.parts[0].text if message.parts else ''
        if reply := self.reply(instruction):
            await event_queue.enqueue_event(Message(
                message_id='reply-1', context_id=context.context_id, role=Role.ROLE_AGENT, parts=text(reply)))
            return
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            task = Task(
                id=context.task_id, context_id=context.context_id, history=[message],
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
            task.status.timestamp.GetCurrentTime()
            await event_queue.enqueue_event(task)
        await self.run_instruction(instruction, context, updater, message)

    def reply(self, instruction):
        return 'hello back' if instruction.split()[:1] == ['direct'] else None

    async def run_instruction(self, instruction, context, updater, message):
        name, *_ = instruction.split() or ['complete']
        await getattr(self, name)(context, updater, message)

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel(updater.new_agent_message(text('stopped')))

    async def complete(self, context, updater, message):
        await updater.start_work(updater.new_agent_message(text('on it')))
        await updater.add_artifact(text('done'), artifact_id='a1', name='result')
        await updater.complete()

    async def echo(self, context, updater, message):
        await updater.start_work()
        parts = list(message.parts)
        await updater.add_artifact(
            parts, artifact_id='a1', name='echo', metadata={'count': len(parts)},
            extensions=list(message.extensions) or None)
        await updater.update_status(
            TaskState.TASK_STATE_COMPLETED, updater.new_agent_message(parts, metadata={'from': 'agent'}),
            metadata={'took': 1.5})

    async def chunks(self, context, updater, message):
        await updater.start_work()
        for number, chunk in enumerate(['one ', 'two ', 'three']):
            await updater.add_artifact(
                text(chunk), artifact_id='a1', name='counted', append=number > 0, last_chunk=number == 2)
        await updater.add_artifact(text('whole'), artifact_id='a2', name='single', last_chunk=True)
        await updater.complete(updater.new_agent_message(text('all sent')))

    async def drip(self, context, updater, message):
        count, pause = map(int, message.parts[0].text.split()[1:])
        await updater.start_work()
        for number in range(count):
            await updater.add_artifact(
                text(f'{number} '), artifact_id='a1', append=number > 0, last_chunk=number == count - 1)
            await asyncio.sleep(pause / 1000)
        await updater.complete()

    async def fail(self, context, updater, message):
        await updater.start_work()
        await updater.failed(updater.new_agent_message(text('it broke')))

    async def reject(self, context, updater, message):
        await updater.reject(updater.new_agent_message(text('not for me')))

    async def input(self, context, updater, message):
        await updater.requires_input(updater.new_agent_message(text('which one?')))

    async def auth(self, context, updater, message):
        await updater.requires_auth(updater.new_agent_message(text('log in first')))

    async def slow(self, context, updater, message):
        await updater.start_work()
        await asyncio.sleep(0.6)
        await updater.add_artifact(text('late'), artifact_id='a1')
        await updater.complete()

    async def hang(self, context, updater, message):
        await updater.start_work()
        await asyncio.Event().wait()

    async def crash(self, context, updater, message):
        await updater.start_work()
        raise RuntimeError('the agent crashed')

    async def refuse(self, context, updater, message):
        raise getattr(errors, message.parts[0].text.split()[1])()


class DemoAgent(demo.Demo, FixtureAgent):
    """Runs the instructions of the `latimer demo-server` agent."""

    async def set_state(self, updater, state, status_text):
        message = updater.new_agent_message(text(status_text)) if status_text else None
        await updater.update_status(TaskState.Value(f'TASK_STATE_{state.upper()}'), message)

    def part(self, part):
        return ParseDict(part, Part())


def load_card(kind: str) -> AgentCard:
    data = cards.read('1.0.json', kind)
    if kind != 'full':
        data = {k: v for k, v in data.items() if not k.startswith('security')}
        data['name'] = f'Fixture Agent ({kind})'
        data['skills'] = data['skills'][1:]
        data['capabilities'] = {
            'streaming': kind == 'half', 'pushNotifications': kind == 'half', 'extendedAgentCard': kind == 'half'}
    if DEMO:
        data['defaultInputModes'] = ['*/*']
    if COMPAT:
        data.get('securitySchemes', {}).pop('device', None)  # 0.3 has no such flow, and the conversion fails on it
        data['supportedInterfaces'] += [
            i | {'protocolVersion': '0.3'} for i in data['supportedInterfaces'] if 'tenant' not in i]
    return ParseDict(data, AgentCard())


def extended(card: AgentCard) -> AgentCard:
    extended_card = AgentCard()
    extended_card.CopyFrom(card)
    extended_card.name = 'Fixture Agent, extended'
    extended_card.skills.add(id='secret', name='Secret', description='Only for known callers.', tags=['extended'])
    return extended_card


async def start(kind: str) -> dict[str, int]:
    card = load_card(kind)
    options = {}
    if kind == 'full':
        configs = InMemoryPushNotificationConfigStore()
        options = {
            'push_config_store': configs,
            'push_sender': BasePushNotificationSender(httpx.AsyncClient(), configs),
            'extended_agent_card': extended(card),
            'validate_input_modes': not DEMO,
        }
        key = Ed25519PrivateKey.from_private_bytes(SIGNING_SEED)
        protected = {'alg': 'EdDSA', 'kid': 'fixture-key', 'typ': 'JOSE', 'jku': 'https://agent.example/keys.json'}
        signing.create_agent_card_signer(key, protected, {'note': 'unprotected'})(card)
    handler = DefaultRequestHandler(DemoAgent() if DEMO else FixtureAgent(), InMemoryTaskStore(), card, **options)
    routes = create_agent_card_routes(card)
    routes += create_jsonrpc_routes(handler, '/', enable_v0_3_compat=COMPAT)
    routes += create_rest_routes(handler, enable_v0_3_compat=COMPAT)
    server = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    if COMPAT:
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), server)
    grpc_port = server.add_insecure_port('127.0.0.1:0')
    await server.start()
    requested_port = int(os.environ.get('PEER_HTTP', 0)) if kind == 'full' else 0
    http_port = await recording_proxy.serve_http(Starlette(routes=routes), requested_port)
    prefix = '' if kind == 'full' else f'{kind}_'
    SERVERS.append(server)
    return {f'{prefix}http': http_port, f'{prefix}grpc': grpc_port}


SERVERS = []


async def main() -> None:
    logging.disable(logging.CRITICAL)
    ports = {}
    for kind in ('full', 'bare', 'half'):
        ports |= await start(kind)
    print(json.dumps(ports), flush=True)
    await asyncio.Event().wait()


if __name__ == '__main__':
    asyncio.run(main())
