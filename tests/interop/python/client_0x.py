"""The clients of a2a-sdk 0.3 and 0.2."""

import base64
import uuid
from contextlib import suppress
from importlib.metadata import version

import grpc
import httpx
from a2a import types as t
from a2a.client import A2ACardResolver
from a2a.client.errors import A2AClientHTTPError
from a2a.grpc import a2a_pb2_grpc

from peer import (
    GRPC_MEANINGS, HTTP_MEANINGS, RPC_MEANINGS, Artifact, Card, Chunk, Event, Message, Part, Peer, Status, Task,
    Webhook)
from run import main

BINDINGS = {'jsonrpc': 'JSONRPC', 'rest': 'HTTP+JSON', 'grpc': 'GRPC'}
NO_LIST = dict.fromkeys(['list_tasks', 'list_pages', 'page_size', 'page_token'], '0.3 has no task list')
NO_CALL = 'the client does not have the operation'
NO_WEBHOOK_CALLS = ['push_list', 'push_delete', 'no_push_list', 'no_push_delete']


class Refused(Exception):
    """An error as the answer, where the SDK raises nothing."""

    def __init__(self, error):
        super().__init__(error)
        self.error = error


class Peer0x(Peer):
    """What both lines have in common."""

    hears_of_tasks = True

    async def send(self, *parts, task='', context='', wait=True, history=None, push=None):
        configuration = t.MessageSendConfiguration(
            accepted_output_modes=['text/plain'], blocking=wait, history_length=history,
            push_notification_config=push and webhook_to(push))
        return event_of(await self._send(t.MessageSendParams(
            message=message(parts, task, context), configuration=configuration)))

    async def stream(self, *parts, task='', context='', push=None):
        configuration = t.MessageSendConfiguration(
            accepted_output_modes=['text/plain'], push_notification_config=webhook_to(push)) if push else None
        async for event in self._stream(t.MessageSendParams(
                message=message(parts, task, context), configuration=configuration)):
            yield event_of(event)

    def heard(self, delivery):
        return event_of(t.Task.model_validate_json(delivery.body, strict=True, extra='forbid'))

    def meanings(self, error):
        if isinstance(error, grpc.aio.AioRpcError):
            return GRPC_MEANINGS.get(error.code().name, set())
        if isinstance(error, A2AClientHTTPError):
            return HTTP_MEANINGS.get(error.status_code, set())
        error = getattr(error, 'error', None)
        return RPC_MEANINGS.get(getattr(error, 'root', error).code, set()) if error else set()


class Peer03(Peer0x):
    def __init__(self, card: t.AgentCard, binding: str):
        from a2a.client import ClientConfig, ClientFactory
        self.card = card_of(card)
        self.binding = binding
        self.asks_for_no_history = binding == 'jsonrpc'
        self.one, self.many = (ClientFactory(ClientConfig(
            streaming=streaming, httpx_client=httpx.AsyncClient(timeout=20),
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_transports=[BINDINGS[binding]])).create(card) for streaming in (False, True))
        self.lacks = NO_LIST | {
            'version': 'the SDK sends no version', **dict.fromkeys(NO_WEBHOOK_CALLS, NO_CALL)}

    async def _send(self, params):
        if params.configuration.push_notification_config:
            # The client above the transport turns this configuration into something it cannot send.
            return await self.one._transport.send_message(params)
        [answer] = [item async for item in self.one.send_message(params.message, configuration=params.configuration)]
        return answer[0] if isinstance(answer, tuple) else answer

    async def _stream(self, params):
        if params.configuration:
            async for event in self.many._transport.send_message_streaming(params):
                yield event
            return
        async for item in self.many.send_message(params.message):
            yield item if isinstance(item, t.Message) else item[1] or item[0]

    async def get(self, task, history=None):
        return event_of(await self.one.get_task(t.TaskQueryParams(id=task, history_length=history)))

    async def cancel(self, task):
        return event_of(await self.one.cancel_task(t.TaskIdParams(id=task)))

    async def subscribe(self, task):
        async for whole, update in self.many.resubscribe(t.TaskIdParams(id=task)):
            yield event_of(update or whole)

    async def create_webhook(self, task, webhook):
        return webhook_of(await self.one.set_task_callback(
            t.TaskPushNotificationConfig(task_id=task, push_notification_config=webhook_to(webhook))))

    async def get_webhook(self, task, id):
        return webhook_of(await self.one.get_task_callback(
            t.GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=id)))

    async def extended_card(self):
        return card_of(await self.one.get_card())

    def meanings(self, error):
        if isinstance(error, A2AClientHTTPError) and 'Invalid SSE response' in error.message:
            return {'TaskNotFound', 'UnsupportedOperation'}  # the client drops the status and the body
        return super().meanings(error)


class Peer02(Peer0x):
    def __init__(self, card: t.AgentCard, binding: str, base: str):
        from a2a.client import A2AClient, A2AGrpcClient
        self.card = card_of(card)
        self.rpc = binding == 'jsonrpc'
        self.asks_for_no_history = self.rpc
        if self.rpc:
            self.client = A2AClient(httpx.AsyncClient(timeout=20), agent_card=card)
        else:
            # This client leaves it to its user to know where gRPC is.
            channel = grpc.aio.insecure_channel(httpx.URL(base).netloc.decode())
            self.client = A2AGrpcClient(a2a_pb2_grpc.A2AServiceStub(channel), card)
        calls = [
            'subscribe', 'subscribe_canceled', 'subscribe_waiting', 'unknown_subscribe', 'finished_subscribe',
            'extended_card', *NO_WEBHOOK_CALLS]
        self.lacks = NO_LIST | dict.fromkeys(calls, NO_CALL) | {'version': 'the SDK sends no version'}
        if binding == 'grpc':
            self.asks_for_history = self.describes_files = False
            self.lacks |= {
                'direct_message': 'the client reads every response as a task',
                'negative_history': 'the client sends no history length',
                'content_type': 'the client sends files without their media type',
                'push_create': 'the client cannot read the response',
                **dict.fromkeys(
                    ['push_get', 'no_push_get'], 'the client uses a method name that servers of the same SDK reject'),
                **dict.fromkeys(['rejected', 'auth_required'], 'the client does not know this state')}

    async def _call(self, method, kind, params):
        if not self.rpc:
            return await method(params)
        answer = (await method(kind(id=str(uuid.uuid4()), params=params))).root
        if hasattr(answer, 'error'):
            raise Refused(answer.error)
        return answer.result

    async def _send(self, params):
        return await self._call(self.client.send_message, t.SendMessageRequest, params)

    async def _stream(self, params):
        if self.rpc:
            params = t.SendStreamingMessageRequest(id=str(uuid.uuid4()), params=params)
        async for item in self.client.send_message_streaming(params):
            if hasattr(getattr(item, 'root', None), 'error'):
                raise Refused(item.root.error)
            yield item.root.result if self.rpc else item

    async def get(self, task, history=None):
        params = t.TaskQueryParams(id=task, history_length=history)
        return event_of(await self._call(self.client.get_task, t.GetTaskRequest, params))

    async def cancel(self, task):
        return event_of(await self._call(self.client.cancel_task, t.CancelTaskRequest, t.TaskIdParams(id=task)))

    async def create_webhook(self, task, webhook):
        config = t.TaskPushNotificationConfig(task_id=task, push_notification_config=webhook_to(webhook))
        if not self.rpc:
            with suppress(AttributeError):  # is all that the client says to the answer
                await self.client.set_task_callback(config)
            return None
        return webhook_of(await self._call(
            self.client.set_task_callback, t.SetTaskPushNotificationConfigRequest, config))

    async def get_webhook(self, task, id):
        params = t.GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=id)
        return webhook_of(await self._call(
            self.client.get_task_callback, t.GetTaskPushNotificationConfigRequest, params))


def message(parts, task: str, context: str) -> t.Message:
    return t.Message(message_id=str(uuid.uuid4()), role=t.Role.user, parts=[part_to(part) for part in parts],
                     task_id=task or None, context_id=context or None)


def webhook_to(webhook: Webhook) -> t.PushNotificationConfig:
    authentication = t.PushNotificationAuthenticationInfo(schemes=[webhook.scheme], credentials=webhook.credentials)
    return t.PushNotificationConfig(id=webhook.id, url=webhook.url, token=webhook.token or None,
                                    authentication=authentication if webhook.scheme else None)


def webhook_of(answer: t.TaskPushNotificationConfig) -> Webhook:
    config = answer.push_notification_config
    how = config.authentication
    [scheme], credentials = (how.schemes, how.credentials) if how else ([''], '')
    return Webhook(config.id, config.url, config.token or '', scheme, credentials)


def part_to(part: Part | str) -> t.Part:
    if isinstance(part, str):
        return t.Part(root=t.TextPart(text=part))
    named = {'name': part.name, 'mime_type': part.media_type}
    match part.kind:
        case 'bytes':
            file = t.FileWithBytes(bytes=base64.b64encode(part.value).decode(), **named)
            return t.Part(root=t.FilePart(file=file))
        case 'url':
            return t.Part(root=t.FilePart(file=t.FileWithUri(uri=part.value, **named)))
        case 'data':
            return t.Part(root=t.DataPart(data=part.value))


def part_of(part: t.Part) -> Part:
    match part.root:
        case t.TextPart(text=text):
            return Part('text', text)
        case t.DataPart(data=data):
            return Part('data', data)
        case t.FilePart(file=t.FileWithBytes() as file):
            return Part('bytes', base64.b64decode(file.bytes, validate=True), file.name or '', file.mime_type or '')
        case t.FilePart(file=file):
            return Part('url', file.uri, file.name or '', file.mime_type or '')


def message_of(message: t.Message) -> Message:
    return Message(message.message_id, message.role.value, [part_of(p) for p in message.parts],
                   message.task_id or '', message.context_id or '')


def artifact_of(artifact: t.Artifact) -> Artifact:
    return Artifact(artifact.artifact_id, [part_of(part) for part in artifact.parts])


def status_of(status: t.TaskStatus) -> tuple[str, Message | None]:
    said = status.message and status.message.message_id  # of protobuf without a message the SDK makes an empty one
    return status.state.value, message_of(status.message) if said else None


def event_of(event) -> Event:
    match event:
        case t.Task():
            return Task(event.id, event.context_id, *status_of(event.status),
                        [artifact_of(a) for a in event.artifacts or []], [message_of(m) for m in event.history or []])
        case t.Message():
            return message_of(event)
        case t.TaskStatusUpdateEvent():
            return Status(event.task_id, event.context_id, *status_of(event.status), event.final)
        case t.TaskArtifactUpdateEvent():
            return Chunk(event.task_id, event.context_id, artifact_of(event.artifact),
                         bool(event.append), bool(event.last_chunk))


def card_of(card: t.AgentCard) -> Card:
    able = card.capabilities
    bindings = [card.preferred_transport or 'JSONRPC', *(each.transport for each in card.additional_interfaces or [])]
    return Card(card.name, card.description, bool(able.streaming), bool(able.push_notifications),
                bool(card.supports_authenticated_extended_card), bindings)


async def connect(base: str, binding: str, compat: bool) -> Peer:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, base).get_agent_card()
    return Peer02(card, binding, base) if version('a2a-sdk').startswith('0.2.') else Peer03(card, binding)


if __name__ == '__main__':
    main(connect)
