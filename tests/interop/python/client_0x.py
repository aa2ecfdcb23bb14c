"""Clients of a2a-sdk 0.3 and 0.2."""

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
    GRPC_ERRORS, HTTP_ERRORS, RPC_ERRORS, Artifact, Card, Chunk, Event, Message, Part, Peer, Status, Task,
    Webhook)
from run import main

BINDINGS = {'jsonrpc': 'JSONRPC', 'rest': 'HTTP+JSON', 'grpc': 'GRPC'}
NO_LIST = dict.fromkeys(['list_tasks', 'list_pages', 'page_size', 'page_token'], '0.3 has no task list')
NO_CALL = 'the client has no such call'
NO_WEBHOOK_CALLS = ['push_list', 'push_delete', 'no_push_list', 'no_push_delete']


class ErrorResponse(Exception):
    """Error response that the SDK returns instead of raising it."""

    def __init__(self, error):
        super().__init__(error)
        self.error = error


class Peer0x(Peer):
    """Common base of the clients."""

    webhooks_send_tasks = True

    async def send(self, *parts, task='', context='', wait=True, history=None, push=None):
        configuration = t.MessageSendConfiguration(
            accepted_output_modes=['text/plain'], blocking=wait, history_length=history,
            push_notification_config=push and to_sdk_webhook(push))
        return from_sdk_event(await self._send(t.MessageSendParams(
            message=to_sdk_message(parts, task, context), configuration=configuration)))

    async def stream(self, *parts, task='', context='', push=None):
        configuration = t.MessageSendConfiguration(
            accepted_output_modes=['text/plain'], push_notification_config=to_sdk_webhook(push)) if push else None
        async for event in self._stream(t.MessageSendParams(
                message=to_sdk_message(parts, task, context), configuration=configuration)):
            yield from_sdk_event(event)

    def parse_delivery(self, delivery):
        return from_sdk_event(t.Task.model_validate_json(delivery.body, strict=True, extra='forbid'))

    def error_kinds(self, error):
        if isinstance(error, grpc.aio.AioRpcError):
            return GRPC_ERRORS.get(error.code().name, set())
        if isinstance(error, A2AClientHTTPError):
            return HTTP_ERRORS.get(error.status_code, set())
        error = getattr(error, 'error', None)
        return RPC_ERRORS.get(getattr(error, 'root', error).code, set()) if error else set()


class Peer03(Peer0x):
    def __init__(self, card: t.AgentCard, binding: str):
        from a2a.client import ClientConfig, ClientFactory
        self.card = from_sdk_card(card)
        self.binding = binding
        self.supports_zero_history = binding == 'jsonrpc'
        self.client, self.streaming_client = (ClientFactory(ClientConfig(
            streaming=streaming, httpx_client=httpx.AsyncClient(timeout=20),
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_transports=[BINDINGS[binding]])).create(card) for streaming in (False, True))
        self.unsupported = NO_LIST | {
            'version': 'the SDK declares no version', **dict.fromkeys(NO_WEBHOOK_CALLS, NO_CALL)}

    async def _send(self, params):
        if params.configuration.push_notification_config:
            # The client converts this configuration to a form that its transport cannot send.
            return await self.client._transport.send_message(params)
        [reply] = [item async for item in self.client.send_message(params.message, configuration=params.configuration)]
        return reply[0] if isinstance(reply, tuple) else reply

    async def _stream(self, params):
        if params.configuration:
            async for event in self.streaming_client._transport.send_message_streaming(params):
                yield event
            return
        async for item in self.streaming_client.send_message(params.message):
            yield item if isinstance(item, t.Message) else item[1] or item[0]

    async def get(self, task, history=None):
        return from_sdk_event(await self.client.get_task(t.TaskQueryParams(id=task, history_length=history)))

    async def cancel(self, task):
        return from_sdk_event(await self.client.cancel_task(t.TaskIdParams(id=task)))

    async def subscribe(self, task):
        async for snapshot, update in self.streaming_client.resubscribe(t.TaskIdParams(id=task)):
            yield from_sdk_event(update or snapshot)

    async def create_webhook(self, task, webhook):
        return from_sdk_webhook(await self.client.set_task_callback(
            t.TaskPushNotificationConfig(task_id=task, push_notification_config=to_sdk_webhook(webhook))))

    async def get_webhook(self, task, id):
        return from_sdk_webhook(await self.client.get_task_callback(
            t.GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=id)))

    async def extended_card(self):
        return from_sdk_card(await self.client.get_card())

    def error_kinds(self, error):
        if isinstance(error, A2AClientHTTPError) and 'Invalid SSE response' in error.message:
            return {'TaskNotFound', 'UnsupportedOperation'}  # the client drops the status and the body
        return super().error_kinds(error)


class Peer02(Peer0x):
    def __init__(self, card: t.AgentCard, binding: str, base: str):
        from a2a.client import A2AClient, A2AGrpcClient
        self.card = from_sdk_card(card)
        self.rpc = binding == 'jsonrpc'
        self.supports_zero_history = self.rpc
        if self.rpc:
            self.client = A2AClient(httpx.AsyncClient(timeout=20), agent_card=card)
        else:
            # This client does not take the gRPC address from the card.
            channel = grpc.aio.insecure_channel(httpx.URL(base).netloc.decode())
            self.client = A2AGrpcClient(a2a_pb2_grpc.A2AServiceStub(channel), card)
        calls = [
            'subscribe', 'subscribe_canceled', 'subscribe_waiting', 'unknown_subscribe', 'finished_subscribe',
            'extended_card', *NO_WEBHOOK_CALLS]
        self.unsupported = NO_LIST | dict.fromkeys(calls, NO_CALL) | {'version': 'the SDK declares no version'}
        if binding == 'grpc':
            self.supports_history = self.keeps_file_metadata = False
            self.unsupported |= {
                'direct_message': 'the client parses every reply as a task',
                'negative_history': 'the client has no history length',
                'content_type': 'the client sends files without their media type',
                'push_create': 'the client cannot parse the response',
                **dict.fromkeys(
                    ['push_get', 'no_push_get'], 'the client sends a name that servers of its own version reject'),
                **dict.fromkeys(['rejected', 'auth_required'], 'the client does not know the state')}

    async def _call(self, method, kind, params):
        if not self.rpc:
            return await method(params)
        response = (await method(kind(id=str(uuid.uuid4()), params=params))).root
        if hasattr(response, 'error'):
            raise ErrorResponse(response.error)
        return response.result

    async def _send(self, params):
        return await self._call(self.client.send_message, t.SendMessageRequest, params)

    async def _stream(self, params):
        if self.rpc:
            params = t.SendStreamingMessageRequest(id=str(uuid.uuid4()), params=params)
        async for item in self.client.send_message_streaming(params):
            if hasattr(getattr(item, 'root', None), 'error'):
                raise ErrorResponse(item.root.error)
            yield item.root.result if self.rpc else item

    async def get(self, task, history=None):
        params = t.TaskQueryParams(id=task, history_length=history)
        return from_sdk_event(await self._call(self.client.get_task, t.GetTaskRequest, params))

    async def cancel(self, task):
        return from_sdk_event(await self._call(self.client.cancel_task, t.CancelTaskRequest, t.TaskIdParams(id=task)))

    async def create_webhook(self, task, webhook):
        config = t.TaskPushNotificationConfig(task_id=task, push_notification_config=to_sdk_webhook(webhook))
        if not self.rpc:
            with suppress(AttributeError):  # the client fails to parse the response
                await self.client.set_task_callback(config)
            return None
        return from_sdk_webhook(await self._call(
            self.client.set_task_callback, t.SetTaskPushNotificationConfigRequest, config))

    async def get_webhook(self, task, id):
        params = t.GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=id)
        return from_sdk_webhook(await self._call(
            self.client.get_task_callback, t.GetTaskPushNotificationConfigRequest, params))


def to_sdk_message(parts, task: str, context: str) -> t.Message:
    return t.Message(message_id=str(uuid.uuid4()), role=t.Role.user, parts=[to_sdk_part(part) for part in parts],
                     task_id=task or None, context_id=context or None)


def to_sdk_webhook(webhook: Webhook) -> t.PushNotificationConfig:
    authentication = t.PushNotificationAuthenticationInfo(schemes=[webhook.scheme], credentials=webhook.credentials)
    return t.PushNotificationConfig(id=webhook.id, url=webhook.url, token=webhook.token or None,
                                    authentication=authentication if webhook.scheme else None)


def from_sdk_webhook(task_config: t.TaskPushNotificationConfig) -> Webhook:
    config = task_config.push_notification_config
    authentication = config.authentication
    [scheme], credentials = (authentication.schemes, authentication.credentials) if authentication else ([''], '')
    return Webhook(config.id, config.url, config.token or '', scheme, credentials)


def to_sdk_part(part: Part | str) -> t.Part:
    if isinstance(part, str):
        return t.Part(root=t.TextPart(text=part))
    metadata = {'name': part.name, 'mime_type': part.media_type}
    match part.kind:
        case 'bytes':
            file = t.FileWithBytes(bytes=base64.b64encode(part.value).decode(), **metadata)
            return t.Part(root=t.FilePart(file=file))
        case 'url':
            return t.Part(root=t.FilePart(file=t.FileWithUri(uri=part.value, **metadata)))
        case 'data':
            return t.Part(root=t.DataPart(data=part.value))


def from_sdk_part(part: t.Part) -> Part:
    match part.root:
        case t.TextPart(text=text):
            return Part('text', text)
        case t.DataPart(data=data):
            return Part('data', data)
        case t.FilePart(file=t.FileWithBytes() as file):
            return Part('bytes', base64.b64decode(file.bytes, validate=True), file.name or '', file.mime_type or '')
        case t.FilePart(file=file):
            return Part('url', file.uri, file.name or '', file.mime_type or '')


def from_sdk_message(message: t.Message) -> Message:
    return Message(message.message_id, message.role.value, [from_sdk_part(p) for p in message.parts],
                   message.task_id or '', message.context_id or '')


def from_sdk_artifact(artifact: t.Artifact) -> Artifact:
    return Artifact(artifact.artifact_id, [from_sdk_part(part) for part in artifact.parts])


def from_sdk_status(status: t.TaskStatus) -> tuple[str, Message | None]:
    has_message = status.message and status.message.message_id  # over gRPC the SDK creates an empty message
    return status.state.value, from_sdk_message(status.message) if has_message else None


def from_sdk_event(event) -> Event:
    match event:
        case t.Task():
            artifacts = [from_sdk_artifact(each) for each in event.artifacts or []]
            history = [from_sdk_message(each) for each in event.history or []]
            return Task(event.id, event.context_id, *from_sdk_status(event.status), artifacts, history)
        case t.Message():
            return from_sdk_message(event)
        case t.TaskStatusUpdateEvent():
            return Status(event.task_id, event.context_id, *from_sdk_status(event.status), event.final)
        case t.TaskArtifactUpdateEvent():
            return Chunk(event.task_id, event.context_id, from_sdk_artifact(event.artifact),
                         bool(event.append), bool(event.last_chunk))


def from_sdk_card(card: t.AgentCard) -> Card:
    capabilities = card.capabilities
    bindings = [card.preferred_transport or 'JSONRPC', *(each.transport for each in card.additional_interfaces or [])]
    return Card(card.name, card.description, bool(capabilities.streaming), bool(capabilities.push_notifications),
                bool(card.supports_authenticated_extended_card), bindings)


async def connect(base: str, binding: str, compat: bool) -> Peer:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, base).get_agent_card()
    return Peer02(card, binding, base) if version('a2a-sdk').startswith('0.2.') else Peer03(card, binding)


if __name__ == '__main__':
    main(connect)
