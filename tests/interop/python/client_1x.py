"""Client of a2a-sdk 1.x, over protocol version 1.0 or (--compat) its 0.3 transports."""

import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.compat.v0_3 import conversions, types as types_v0_3
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, Parse, ParseDict
from google.protobuf.struct_pb2 import Value

from peer import GRPC_ERRORS, Artifact, Card, Chunk, Event, Message, Page, Part, Peer, Status, Task, Webhook
from run import main

BINDINGS = {'jsonrpc': 'JSONRPC', 'rest': 'HTTP+JSON', 'grpc': 'GRPC'}


class Peer1x(Peer):
    def __init__(self, card: pb.AgentCard, binding: str, compat: bool):
        self.card = from_sdk_card(card)
        interfaces = [each for each in card.supported_interfaces if (each.protocol_version == '0.3') == compat]
        card.ClearField('supported_interfaces')
        card.supported_interfaces.extend(interfaces)
        self.client, self.streaming_client = (ClientFactory(ClientConfig(
            streaming=streaming, httpx_client=httpx.AsyncClient(timeout=20),
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[BINDINGS[binding]])).create(card) for streaming in (False, True))
        self.webhooks_send_tasks = compat
        self.supports_zero_history = not (compat and binding != 'jsonrpc')
        self.unsupported = unsupported_operations(binding, compat)

    async def send(self, *parts, task='', context='', wait=True, history=None, push=None):
        configuration = pb.SendMessageConfiguration(
            return_immediately=not wait, history_length=history,
            task_push_notification_config=push and to_sdk_webhook(push))
        return await self._send(pb.SendMessageRequest(
            message=to_sdk_message(parts, task, context), configuration=configuration))

    async def _send(self, request, **options):
        [reply] = [from_sdk_event(item) async for item in self.client.send_message(request, **options)]
        return reply

    async def send_as(self, version):
        context = ClientCallContext(service_parameters={'A2A-Version': version})
        return await self._send(pb.SendMessageRequest(message=to_sdk_message(['echo hello'], '', '')), context=context)

    async def stream(self, *parts, task='', context='', push=None):
        configuration = pb.SendMessageConfiguration(task_push_notification_config=push and to_sdk_webhook(push))
        async for item in self.streaming_client.send_message(pb.SendMessageRequest(
                message=to_sdk_message(parts, task, context), configuration=configuration)):
            yield from_sdk_event(item)

    async def get(self, task, history=None):
        return from_sdk_task(await self.client.get_task(pb.GetTaskRequest(id=task, history_length=history)))

    async def list(self, status='', **filters):
        if status:
            filters['status'] = pb.TaskState.Value(f'TASK_STATE_{status.upper()}')
        page = await self.client.list_tasks(pb.ListTasksRequest(**filters))
        return Page([from_sdk_task(task) for task in page.tasks], page.next_page_token, page.page_size, page.total_size)

    async def cancel(self, task):
        return from_sdk_task(await self.client.cancel_task(pb.CancelTaskRequest(id=task)))

    async def subscribe(self, task):
        async for item in self.streaming_client.subscribe(pb.SubscribeToTaskRequest(id=task)):
            yield from_sdk_event(item)

    async def create_webhook(self, task, webhook):
        return from_sdk_webhook(await self.client.create_task_push_notification_config(to_sdk_webhook(webhook, task)))

    async def get_webhook(self, task, id):
        return from_sdk_webhook(await self.client.get_task_push_notification_config(
            pb.GetTaskPushNotificationConfigRequest(task_id=task, id=id)))

    async def list_webhooks(self, task):
        response = await self.client.list_task_push_notification_configs(
            pb.ListTaskPushNotificationConfigsRequest(task_id=task))
        return [from_sdk_webhook(config) for config in response.configs]

    async def delete_webhook(self, task, id):
        await self.client.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=task, id=id))

    def parse_delivery(self, delivery):
        if self.webhooks_send_tasks:
            task = types_v0_3.Task.model_validate_json(delivery.body, strict=True, extra='forbid')
            return from_sdk_task(conversions.to_core_task(task))
        event = Parse(delivery.body, pb.StreamResponse(), ignore_unknown_fields=False)
        validate_proto_required_fields(event)
        return from_sdk_event(event)

    async def extended_card(self):
        return from_sdk_card(await self.client.get_extended_agent_card(pb.GetExtendedAgentCardRequest()))

    def error_kinds(self, error):
        if isinstance(error.__cause__, grpc.aio.AioRpcError) and type(error).__module__ == 'a2a.client.errors':
            return GRPC_ERRORS.get(error.__cause__.code().name, set())
        return {type(error).__name__.removesuffix('Error')} if isinstance(error, A2AError) else set()


def unsupported_operations(binding: str, compat: bool) -> dict[str, str]:
    unsupported = {}
    if compat or binding == 'grpc':
        unsupported['version'] = 'the client always declares its own version'
    if compat:
        unsupported |= dict.fromkeys(['list_tasks', 'list_pages', 'page_size', 'page_token'], '0.3 has no task list')
    if compat and binding == 'rest':
        calls = ['push_list', 'push_delete', 'no_push_list', 'no_push_delete']
        unsupported |= dict.fromkeys(calls, 'the client has no such call over this binding')
    return unsupported


def to_sdk_message(parts, task: str, context: str) -> pb.Message:
    return pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=map(to_sdk_part, parts),
                      task_id=task, context_id=context)


def to_sdk_part(part: Part | str) -> pb.Part:
    if isinstance(part, str):
        return pb.Part(text=part)
    content = {'bytes': 'raw'}.get(part.kind, part.kind)
    value = ParseDict(part.value, Value()) if part.kind == 'data' else part.value
    return pb.Part(**{content: value}, filename=part.name, media_type=part.media_type)


def from_sdk_part(part: pb.Part) -> Part:
    kind = part.WhichOneof('content')
    value = getattr(part, kind)
    if kind == 'data':
        value = MessageToDict(value)
    return Part({'raw': 'bytes'}.get(kind, kind), value, part.filename, part.media_type)


def to_sdk_webhook(webhook: Webhook, task: str = '') -> pb.TaskPushNotificationConfig:
    authentication = pb.AuthenticationInfo(scheme=webhook.scheme, credentials=webhook.credentials)
    return pb.TaskPushNotificationConfig(task_id=task, id=webhook.id, url=webhook.url, token=webhook.token,
                                         authentication=authentication if webhook.scheme else None)


def from_sdk_webhook(config: pb.TaskPushNotificationConfig) -> Webhook:
    authentication = config.authentication
    return Webhook(config.id, config.url, config.token, authentication.scheme, authentication.credentials)


def from_sdk_message(message: pb.Message) -> Message:
    role = pb.Role.Name(message.role).removeprefix('ROLE_').lower()
    parts = [from_sdk_part(part) for part in message.parts]
    return Message(message.message_id, role, parts, message.task_id, message.context_id)


def from_sdk_artifact(artifact: pb.Artifact) -> Artifact:
    return Artifact(artifact.artifact_id, [from_sdk_part(part) for part in artifact.parts])


def from_sdk_status(status: pb.TaskStatus) -> tuple[str, Message | None]:
    state = pb.TaskState.Name(status.state).removeprefix('TASK_STATE_').lower().replace('_', '-')
    return state, from_sdk_message(status.message) if status.HasField('message') else None


def from_sdk_task(task: pb.Task) -> Task:
    return Task(task.id, task.context_id, *from_sdk_status(task.status),
                [from_sdk_artifact(a) for a in task.artifacts], [from_sdk_message(m) for m in task.history])


def from_sdk_event(item: pb.StreamResponse) -> Event:
    event = getattr(item, item.WhichOneof('payload'))
    match event:
        case pb.Task():
            return from_sdk_task(event)
        case pb.Message():
            return from_sdk_message(event)
        case pb.TaskStatusUpdateEvent():
            return Status(event.task_id, event.context_id, *from_sdk_status(event.status))
        case pb.TaskArtifactUpdateEvent():
            artifact = from_sdk_artifact(event.artifact)
            return Chunk(event.task_id, event.context_id, artifact, event.append, event.last_chunk)


def from_sdk_card(card: pb.AgentCard) -> Card:
    capabilities = card.capabilities
    bindings = [f'{each.protocol_binding} {each.protocol_version}' for each in card.supported_interfaces]
    return Card(card.name, card.description, capabilities.streaming, capabilities.push_notifications,
                capabilities.extended_agent_card, bindings)


async def connect(base: str, binding: str, compat: bool) -> Peer:
    async with httpx.AsyncClient() as http:
        return Peer1x(await A2ACardResolver(http, base).get_agent_card(), binding, compat)


if __name__ == '__main__':
    main(connect)
