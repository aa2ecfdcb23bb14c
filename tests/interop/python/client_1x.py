"""The client of a2a-sdk 1.x, over 1.0 or (--compat) over its 0.3 transports."""

import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.compat.v0_3 import conversions, types as older
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, Parse, ParseDict
from google.protobuf.struct_pb2 import Value

from peer import GRPC_MEANINGS, Artifact, Card, Chunk, Event, Message, Page, Part, Peer, Status, Task, Webhook
from run import main

BINDINGS = {'jsonrpc': 'JSONRPC', 'rest': 'HTTP+JSON', 'grpc': 'GRPC'}


class Peer1x(Peer):
    def __init__(self, card: pb.AgentCard, binding: str, compat: bool):
        self.card = card_of(card)
        wanted = [interface for interface in card.supported_interfaces
                  if (interface.protocol_version == '0.3') == compat]
        card.ClearField('supported_interfaces')
        card.supported_interfaces.extend(wanted)
        self.one, self.many = (ClientFactory(ClientConfig(
            streaming=streaming, httpx_client=httpx.AsyncClient(timeout=20),
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[BINDINGS[binding]])).create(card) for streaming in (False, True))
        self.hears_of_tasks = compat
        self.asks_for_no_history = not (compat and binding != 'jsonrpc')
        self.lacks = lacking(binding, compat)

    async def send(self, *parts, task='', context='', wait=True, history=None, push=None):
        configuration = pb.SendMessageConfiguration(
            return_immediately=not wait, history_length=history,
            task_push_notification_config=push and webhook_to(push))
        return await self._send(pb.SendMessageRequest(
            message=message(parts, task, context), configuration=configuration))

    async def _send(self, request, **options):
        [answer] = [event_of(item) async for item in self.one.send_message(request, **options)]
        return answer

    async def send_as(self, version):
        context = ClientCallContext(service_parameters={'A2A-Version': version})
        return await self._send(pb.SendMessageRequest(message=message(['echo hello'], '', '')), context=context)

    async def stream(self, *parts, task='', context='', push=None):
        configuration = pb.SendMessageConfiguration(task_push_notification_config=push and webhook_to(push))
        async for item in self.many.send_message(pb.SendMessageRequest(
                message=message(parts, task, context), configuration=configuration)):
            yield event_of(item)

    async def get(self, task, history=None):
        return task_of(await self.one.get_task(pb.GetTaskRequest(id=task, history_length=history)))

    async def list(self, status='', **filters):
        if status:
            filters['status'] = pb.TaskState.Value(f'TASK_STATE_{status.upper()}')
        page = await self.one.list_tasks(pb.ListTasksRequest(**filters))
        return Page([task_of(task) for task in page.tasks], page.next_page_token, page.page_size, page.total_size)

    async def cancel(self, task):
        return task_of(await self.one.cancel_task(pb.CancelTaskRequest(id=task)))

    async def subscribe(self, task):
        async for item in self.many.subscribe(pb.SubscribeToTaskRequest(id=task)):
            yield event_of(item)

    async def create_webhook(self, task, webhook):
        return webhook_of(await self.one.create_task_push_notification_config(webhook_to(webhook, task)))

    async def get_webhook(self, task, id):
        return webhook_of(await self.one.get_task_push_notification_config(
            pb.GetTaskPushNotificationConfigRequest(task_id=task, id=id)))

    async def list_webhooks(self, task):
        answer = await self.one.list_task_push_notification_configs(
            pb.ListTaskPushNotificationConfigsRequest(task_id=task))
        return [webhook_of(config) for config in answer.configs]

    async def delete_webhook(self, task, id):
        await self.one.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=task, id=id))

    def heard(self, delivery):
        if self.hears_of_tasks:
            task = older.Task.model_validate_json(delivery.body, strict=True, extra='forbid')
            return task_of(conversions.to_core_task(task))
        event = Parse(delivery.body, pb.StreamResponse(), ignore_unknown_fields=False)
        validate_proto_required_fields(event)
        return event_of(event)

    async def extended_card(self):
        return card_of(await self.one.get_extended_agent_card(pb.GetExtendedAgentCardRequest()))

    def meanings(self, error):
        if isinstance(error.__cause__, grpc.aio.AioRpcError) and type(error).__module__ == 'a2a.client.errors':
            return GRPC_MEANINGS.get(error.__cause__.code().name, set())
        return {type(error).__name__.removesuffix('Error')} if isinstance(error, A2AError) else set()


def lacking(binding: str, compat: bool) -> dict[str, str]:
    lacks = {}
    if compat or binding == 'grpc':
        lacks['version'] = 'the client does not let callers set the version'
    if compat:
        lacks |= dict.fromkeys(['list_tasks', 'list_pages', 'page_size', 'page_token'], '0.3 has no task list')
    if compat and binding == 'rest':
        calls = ['push_list', 'push_delete', 'no_push_list', 'no_push_delete']
        lacks |= dict.fromkeys(calls, 'the client does not have the operation over this binding')
    return lacks


def message(parts, task: str, context: str) -> pb.Message:
    return pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=map(part_to, parts),
                      task_id=task, context_id=context)


def part_to(part: Part | str) -> pb.Part:
    if isinstance(part, str):
        return pb.Part(text=part)
    content = {'bytes': 'raw'}.get(part.kind, part.kind)
    value = ParseDict(part.value, Value()) if part.kind == 'data' else part.value
    return pb.Part(**{content: value}, filename=part.name, media_type=part.media_type)


def part_of(part: pb.Part) -> Part:
    kind = part.WhichOneof('content')
    value = getattr(part, kind)
    if kind == 'data':
        value = MessageToDict(value)
    return Part({'raw': 'bytes'}.get(kind, kind), value, part.filename, part.media_type)


def webhook_to(webhook: Webhook, task: str = '') -> pb.TaskPushNotificationConfig:
    authentication = pb.AuthenticationInfo(scheme=webhook.scheme, credentials=webhook.credentials)
    return pb.TaskPushNotificationConfig(task_id=task, id=webhook.id, url=webhook.url, token=webhook.token,
                                         authentication=authentication if webhook.scheme else None)


def webhook_of(config: pb.TaskPushNotificationConfig) -> Webhook:
    how = config.authentication
    return Webhook(config.id, config.url, config.token, how.scheme, how.credentials)


def message_of(message: pb.Message) -> Message:
    role = pb.Role.Name(message.role).removeprefix('ROLE_').lower()
    return Message(message.message_id, role, [part_of(p) for p in message.parts], message.task_id, message.context_id)


def artifact_of(artifact: pb.Artifact) -> Artifact:
    return Artifact(artifact.artifact_id, [part_of(part) for part in artifact.parts])


def status_of(status: pb.TaskStatus) -> tuple[str, Message | None]:
    state = pb.TaskState.Name(status.state).removeprefix('TASK_STATE_').lower().replace('_', '-')
    return state, message_of(status.message) if status.HasField('message') else None


def task_of(task: pb.Task) -> Task:
    return Task(task.id, task.context_id, *status_of(task.status),
                [artifact_of(a) for a in task.artifacts], [message_of(m) for m in task.history])


def event_of(item: pb.StreamResponse) -> Event:
    event = getattr(item, item.WhichOneof('payload'))
    match event:
        case pb.Task():
            return task_of(event)
        case pb.Message():
            return message_of(event)
        case pb.TaskStatusUpdateEvent():
            return Status(event.task_id, event.context_id, *status_of(event.status))
        case pb.TaskArtifactUpdateEvent():
            return Chunk(event.task_id, event.context_id, artifact_of(event.artifact), event.append, event.last_chunk)


def card_of(card: pb.AgentCard) -> Card:
    able = card.capabilities
    bindings = [f'{each.protocol_binding} {each.protocol_version}' for each in card.supported_interfaces]
    return Card(card.name, card.description, able.streaming, able.push_notifications, able.extended_agent_card,
                bindings)


async def connect(base: str, binding: str, compat: bool) -> Peer:
    async with httpx.AsyncClient() as http:
        return Peer1x(await A2ACardResolver(http, base).get_agent_card(), binding, compat)


if __name__ == '__main__':
    main(connect)
