"""Server of a2a-sdk 0.3 or 0.2 over JSON-RPC, gRPC and (0.3) HTTP+JSON. A message contains an instruction."""

import seed  # noqa: F401  must be imported first

import asyncio
import json
import logging
import sys
import uuid
from importlib.metadata import version

import grpc
import httpx
from a2a import types
from a2a.grpc import a2a_pb2_grpc
from a2a.server import apps
from a2a.server.agent_execution import AgentExecutor, SimpleRequestContextBuilder
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCard, Message, Part, Role, Task, TaskState, TaskStatus, TextPart
from a2a.utils.errors import ServerError
from starlette.applications import Starlette

import cards
import demo
import recording_proxy

IS_V0_2 = version('a2a-sdk').startswith('0.2.')
DEMO = '--demo' in sys.argv
SIGNING_SEED = bytes([7]) * 32
SERVERS = []


def text(value: str) -> list[Part]:
    return [Part(root=TextPart(text=value))]


class FixtureAgent(AgentExecutor):
    """Runs the method named by the first word of the message: complete, direct, echo, chunks, drip, fail and so on."""

    async def execute(self, context, event_queue):
        message = context.message
        instruction = getattr(message.parts[0].root, 'text', '') if message.parts else ''
        if reply := self.reply(instruction):
            await event_queue.enqueue_event(Message(
                message_id='reply-1', context_id=context.context_id, role=Role.agent, parts=text(reply)))
            return
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            await event_queue.enqueue_event(Task(
                id=context.task_id, context_id=context.context_id, history=[message],
                status=TaskStatus(state=TaskState.submitted, timestamp='2026-01-01T00:00:00+00:00')))
        await self.run_instruction(instruction, context, updater, message)

    def reply(self, instruction):
        return 'hello back' if instruction.split()[:1] == ['direct'] else None

    async def run_instruction(self, instruction, context, updater, message):
        name, *_ = instruction.split() or ['complete']
        await getattr(self, name)(context, updater, message)

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await self.state(updater, TaskState.canceled, 'stopped')

    async def state(self, updater, state, status_text=None, **members):
        message = updater.new_agent_message(text(status_text)) if status_text else None
        await updater.update_status(state, message, **members)

    async def complete(self, context, updater, message):
        await self.state(updater, TaskState.working, 'on it')
        await updater.add_artifact(text('done'), artifact_id='a1', name='result')
        await self.state(updater, TaskState.completed)

    async def echo(self, context, updater, message):
        for uri in [] if IS_V0_2 else message.extensions or []:
            context.add_activated_extension(uri)
        await self.state(updater, TaskState.working)
        parts = list(message.parts)
        extra = {} if IS_V0_2 else {'extensions': message.extensions}
        await updater.add_artifact(parts, artifact_id='a1', name='echo', metadata={'count': len(parts)}, **extra)
        extra = {} if IS_V0_2 else {'metadata': {'took': 1.5}}
        await updater.update_status(
            TaskState.completed, updater.new_agent_message(parts, metadata={'from': 'agent'}), **extra)

    async def chunks(self, context, updater, message):
        await self.state(updater, TaskState.working)
        for number, chunk in enumerate(['one ', 'two ', 'three']):
            await updater.add_artifact(
                text(chunk), artifact_id='a1', name='counted', append=number > 0, last_chunk=number == 2)
        await updater.add_artifact(text('whole'), artifact_id='a2', name='single', last_chunk=True)
        await self.state(updater, TaskState.completed, 'all sent')

    async def drip(self, context, updater, message):
        count, pause = map(int, message.parts[0].root.text.split()[1:])
        await self.state(updater, TaskState.working)
        for number in range(count):
            await updater.add_artifact(
                text(f'{number} '), artifact_id='a1', append=number > 0, last_chunk=number == count - 1)
            await asyncio.sleep(pause / 1000)
        await self.state(updater, TaskState.completed)

    async def fail(self, context, updater, message):
        await self.state(updater, TaskState.working)
        await self.state(updater, TaskState.failed, 'it broke')

    async def reject(self, context, updater, message):
        await self.state(updater, TaskState.rejected, 'not for me')

    async def input(self, context, updater, message):
        await self.state(updater, TaskState.input_required, 'which one?', final=True)

    async def auth(self, context, updater, message):
        await self.state(updater, TaskState.auth_required, 'log in first', final=True)

    async def slow(self, context, updater, message):
        await self.state(updater, TaskState.working)
        await asyncio.sleep(0.6)
        await updater.add_artifact(text('late'), artifact_id='a1')
        await self.state(updater, TaskState.completed)

    async def hang(self, context, updater, message):
        await self.state(updater, TaskState.working)
        await asyncio.Event().wait()

    async def crash(self, context, updater, message):
        await self.state(updater, TaskState.working)
        raise RuntimeError('the agent crashed')

    async def refuse(self, context, updater, message):
        raise ServerError(error=getattr(types, message.parts[0].root.text.split()[1])())


class DemoAgent(demo.Demo, FixtureAgent):
    """Runs the instructions of the `latimer demo-server` agent."""

    async def set_state(self, updater, state, status_text):
        await self.state(updater, TaskState[state], status_text, final=state != 'working')

    def part(self, part):
        return Part.model_validate(demo.to_v0_3(part))


class HyphenlessIds(SimpleRequestContextBuilder):
    """Generates task ids without hyphens: the gRPC server of 0.2 truncates an id at the first one."""

    async def build(self, params=None, task_id=None, context_id=None, task=None, context=None):
        return await super().build(params, task_id or uuid.uuid4().hex, context_id, task, context)


def load_card(kind: str) -> AgentCard:
    data = cards.read('0.3.json', kind)
    if IS_V0_2:
        data['protocolVersion'] = '0.2.6'
        data['additionalInterfaces'] = [i for i in data['additionalInterfaces'] if i['transport'] != 'HTTP+JSON']
        data['securitySchemes'].pop('mtls')
        data['securitySchemes']['oauth'].pop('oauth2MetadataUrl')
        data['skills'][0].pop('security')
    if DEMO:
        data['defaultInputModes'] = ['*/*']
    if kind != 'full':
        data = {k: v for k, v in data.items() if not k.startswith('security')}
        data['name'] = f'Fixture Agent ({kind})'
        data['skills'] = data['skills'][1:]
        data['capabilities'] = {'streaming': kind == 'half', 'pushNotifications': kind == 'half'}
        data['supportsAuthenticatedExtendedCard'] = kind == 'half'
    return AgentCard.model_validate(data)


def extended(card: AgentCard) -> AgentCard:
    secret = types.AgentSkill(id='secret', name='Secret', description='Only for known callers.', tags=['extended'])
    return card.model_copy(update={'name': 'Fixture Agent, extended', 'skills': [*card.skills, secret]})


def sign(card: AgentCard) -> None:
    from a2a.utils import signing
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    key = Ed25519PrivateKey.from_private_bytes(SIGNING_SEED)
    protected = {'alg': 'EdDSA', 'kid': 'fixture-key', 'typ': 'JOSE', 'jku': 'https://agent.example/keys.json'}
    signing.create_agent_card_signer(key, protected, {'note': 'unprotected'})(card)


async def start(kind: str) -> dict[str, int]:
    card = load_card(kind)
    options, extended_card = {}, None
    if kind == 'full':
        configs = InMemoryPushNotificationConfigStore()
        options = {
            'push_config_store': configs,
            'push_sender': BasePushNotificationSender(httpx.AsyncClient(), configs),
        }
        extended_card = extended(card)
        if not IS_V0_2:
            sign(card)
    if IS_V0_2:
        options['request_context_builder'] = HyphenlessIds(should_populate_referred_tasks=False, task_store=None)
    handler = DefaultRequestHandler(DemoAgent() if DEMO else FixtureAgent(), InMemoryTaskStore(), **options)
    app = Starlette()
    if not IS_V0_2:
        app = apps.A2ARESTFastAPIApplication(card, handler, extended_agent_card=extended_card).build()
    app.router.routes[:0] = apps.A2AStarletteApplication(card, handler, extended_agent_card=extended_card).routes()
    server = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), server)
    grpc_port = server.add_insecure_port('127.0.0.1:0')
    await server.start()
    SERVERS.append(server)
    http_port = await recording_proxy.serve_http(app)
    prefix = '' if kind == 'full' else f'{kind}_'
    return {f'{prefix}http': http_port, f'{prefix}grpc': grpc_port}


async def main() -> None:
    logging.disable(logging.CRITICAL)
    ports = {}
    for kind in ('full', 'bare', 'half'):
        ports |= await start(kind)
    print(json.dumps(ports), flush=True)
    await asyncio.Event().wait()


if __name__ == '__main__':
    asyncio.run(main())
