"""Calls an a2a-sdk 0.3 or 0.2 server with the SDK's own client; plain requests make the calls that it lacks."""

import seed  # noqa: F401  must be imported first

import asyncio
import base64
import contextlib
import uuid
from importlib.metadata import version

import grpc
import httpx
from a2a import types as t
from a2a.client import A2ACardResolver
from a2a.grpc import a2a_pb2, a2a_pb2_grpc

from mark import PORTS, Cases, hook, mark

IS_V0_2 = version('a2a-sdk').startswith('0.2.')
TRACE = 'https://extensions.example/trace/v1'
PNG = base64.b64encode(bytes.fromhex('89504e470d0a1a0a00fffe')).decode()
_messages = iter(range(1, 10000))
_open_streams = []


class Peer03:
    """Client of the 0.3 line, for plain and for streamed responses."""

    bindings = {'jsonrpc': 'JSONRPC', 'rest': 'HTTP+JSON', 'grpc': 'GRPC'}

    def __init__(self, card: t.AgentCard, binding: str, server: str = ''):
        self.client = self._client(card, binding, server, streaming=False)
        self.streaming_client = self._client(card, binding, server, streaming=True)
        self.resubscribe = self.streaming_client.resubscribe
        self.get_task, self.cancel_task = self.client.get_task, self.client.cancel_task
        self.set_push, self.get_push = self.client.set_task_callback, self.client.get_task_callback
        self.get_card = self.client.get_card

    def _client(self, card, binding, server, streaming):
        from a2a.client import ClientConfig, ClientFactory
        port = PORTS[f'{server}grpc' if binding == 'grpc' else f'{server}http']
        local_card = card.model_copy(deep=True, update={
            'url': f'127.0.0.1:{port}' if binding == 'grpc' else f'http://127.0.0.1:{port}',
            'preferred_transport': self.bindings[binding], 'additional_interfaces': None,
            'capabilities': t.AgentCapabilities(streaming=True, push_notifications=True),
            'supports_authenticated_extended_card': True})
        config = ClientConfig(
            streaming=streaming, httpx_client=httpx.AsyncClient(timeout=20),
            grpc_channel_factory=grpc.aio.insecure_channel, supported_transports=[self.bindings[binding]])
        return ClientFactory(config).create(local_card)

    def _pass(self, client, params: t.MessageSendParams):
        return client.send_message(
            params.message, configuration=params.configuration, request_metadata=params.metadata)

    @staticmethod
    def _has_push(params: t.MessageSendParams) -> bool:
        """Whether to call the transport directly: the client converts this configuration to a dict."""
        return bool(params.configuration and params.configuration.push_notification_config)

    async def send(self, params, extensions=None):
        if self._has_push(params):
            return await self.client._transport.send_message(params, extensions=extensions)
        items = [item async for item in self._pass(self.client, params)]
        return items[-1][0] if isinstance(items[-1], tuple) else items[-1]

    def stream(self, params):
        if self._has_push(params):
            return self.streaming_client._transport.send_message_streaming(params)
        return self._pass(self.streaming_client, params)


class Peer02:
    """Clients of the 0.2 line, which cannot resubscribe or list push configurations."""

    bindings = {'jsonrpc': 'JSONRPC', 'grpc': 'GRPC'}

    def __init__(self, card: t.AgentCard, binding: str, server: str = ''):
        from a2a.client import A2AClient, A2AGrpcClient
        self.rpc = binding == 'jsonrpc'
        if self.rpc:
            url = f'http://127.0.0.1:{PORTS[server + "http"]}'
            self.client = A2AClient(httpx.AsyncClient(timeout=20), url=url)
        else:
            channel = grpc.aio.insecure_channel(f'127.0.0.1:{PORTS[server + "grpc"]}')
            self.client = A2AGrpcClient(a2a_pb2_grpc.A2AServiceStub(channel), card)

    async def _call(self, method, kind, params, **options):
        if not self.rpc:
            return await method(params)
        response = (await method(kind(id=str(uuid.uuid4()), params=params), **options)).root
        if hasattr(response, 'error'):
            raise RuntimeError(response.error)
        return response.result

    async def send(self, params, extensions=None):
        options = {'http_kwargs': {'headers': {'X-A2A-Extensions': ','.join(extensions)}}} if extensions else {}
        return await self._call(self.client.send_message, t.SendMessageRequest, params, **options)

    async def stream(self, params):
        if self.rpc:
            params = t.SendStreamingMessageRequest(id=str(uuid.uuid4()), params=params)
        async for item in self.client.send_message_streaming(params):
            if hasattr(getattr(item, 'root', None), 'error'):
                raise RuntimeError(item.root.error)
            yield item

    async def get_task(self, params):
        return await self._call(self.client.get_task, t.GetTaskRequest, params)

    async def cancel_task(self, params):
        return await self._call(self.client.cancel_task, t.CancelTaskRequest, params)

    async def set_push(self, params):
        return await self._call(self.client.set_task_callback, t.SetTaskPushNotificationConfigRequest, params)

    async def get_push(self, params):
        if not self.rpc:
            params = t.TaskIdParams(id=params.id)
        return await self._call(self.client.get_task_callback, t.GetTaskPushNotificationConfigRequest, params)


Peer = Peer02 if IS_V0_2 else Peer03


def text_part(value: str) -> t.Part:
    return t.Part(root=t.TextPart(text=value))


def data(value: dict) -> t.Part:
    return t.Part(root=t.DataPart(data=value))


def send(*parts, configuration=None, request_metadata=None, **members) -> t.MessageSendParams:
    parts = [text_part(p) if isinstance(p, str) else p for p in parts]
    message = t.Message(message_id=f'm{next(_messages)}', role=t.Role.user, parts=parts, **members)
    return t.MessageSendParams(message=message, configuration=configuration, metadata=request_metadata)


def configure(**members) -> t.MessageSendConfiguration:
    if IS_V0_2:
        members.setdefault('accepted_output_modes', ['text/plain'])
    return t.MessageSendConfiguration(**members)


async def record_cards() -> t.AgentCard:
    cases = Cases('card')
    async with httpx.AsyncClient() as http:
        async def fetch(server):
            return await A2ACardResolver(http, f'http://127.0.0.1:{PORTS[server]}').get_agent_card()
        await cases('get_agent_card', 'bare', fetch('bare_http'))
        card = await cases('get_agent_card', 'full', fetch('http'))
    cases.raw('get_agent_card', 'old_path', 'GET', '/.well-known/agent.json', server='bare_http')
    cases.raw('get_agent_card', 'new_path', 'GET', '/.well-known/agent-card.json', server='bare_http')
    cases.raw('get_extended_agent_card', 'by_path', 'GET', '/agent/authenticatedExtendedCard')
    cases.raw('get_extended_agent_card', 'not_configured_by_path', 'GET', '/agent/authenticatedExtendedCard',
              server='half_http')
    return card


async def record_send(cases, peer):
    async def ok(case, params, **options):
        return await cases('send_message', case, peer.send(params, **options))

    await ok('text', send('complete please'))
    await ok('direct', send('direct', context_id='ctx-direct'))
    if cases.binding != 'grpc':
        await ok('non_ascii', send('echo Grüße, 世界 🌍 "quoted" \\ \u2028 end\n\ttab'))
    await ok('parts', send(
        'echo',
        t.Part(root=t.FilePart(
            file=t.FileWithBytes(bytes=PNG, name='dot.png', mime_type='image/png'), metadata={'width': 1})),
        t.Part(root=t.FilePart(
            file=t.FileWithUri(uri='https://files.example/a%20b.pdf', name='a b.pdf', mime_type='application/pdf'))),
        data({'nested': {'list': [1, 2.5, -3, 'x', None, True], 'empty': {}, 'none': []}, 'ü': 'é'}),
    ))
    await ok('full', send(
        'echo everything', context_id='ctx-full', extensions=[TRACE], reference_task_ids=['earlier-1', 'earlier-2'],
        metadata={'trace': 'abc', 'n': 7, TRACE: {'deep': [1, {'a': None}]}},
        request_metadata={'caller': 'fixtures', 'list': [True, 'x']},
        configuration=configure(
            accepted_output_modes=['text/plain', 'application/json'], history_length=1, blocking=True,
            push_notification_config=t.PushNotificationConfig(
                id='cfg-1', url=hook('full', cases), token='token-1',
                authentication=t.PushNotificationAuthenticationInfo(schemes=['Bearer'], credentials='secret-1')))),
        extensions=[TRACE, 'https://extensions.example/plain/v1'])
    await ok('history_zero', send('complete', configuration=configure(history_length=0)))
    await ok('not_blocking', send('slow', configuration=configure(blocking=False)))
    await asyncio.sleep(0.8)  # lets the slow task end, so that every run reads the clock equally often
    for instruction, case in {
        'fail': 'failed', 'reject': 'rejected', 'input': 'input_required', 'auth': 'auth_required',
    }.items():
        await ok(case, send(instruction))
    if cases.main:
        waiting = await cases.unrecorded(peer.send(send('input')))
        await ok('follow_up', send('complete', task_id=waiting.id, context_id=waiting.context_id))


async def record_send_errors(cases, peer, bare, done):
    async def bad(case, params, via=peer):
        await cases('send_message', case, via.send(params), error=True)

    await bad('error_unknown_task', send('complete', task_id='no-such-task'))
    await bad('error_terminal_task', send('complete', task_id=done.id, context_id=done.context_id))
    waiting = await cases.unrecorded(peer.send(send('input')))
    await bad('error_context_mismatch', send('complete', task_id=waiting.id, context_id='another'))
    await bad('error_no_parts', send())
    await bad('error_negative_history', send('complete', configuration=configure(history_length=-1)))
    await bad('error_crash', send('crash'))
    for name in ('UnsupportedOperationError', 'ContentTypeNotSupportedError', 'InvalidAgentResponseError',
                 'PushNotificationNotSupportedError', 'InternalError'):
        await bad('error_' + ''.join(f'_{c.lower()}' if c.isupper() else c for c in name[:-5])[1:] + '_by_agent',
                  send(f'refuse {name}'))
    await bad('push_without_support', send('complete', configuration=configure(
        push_notification_config=t.PushNotificationConfig(url=hook('never', cases)))), bare)


async def record_streams(cases, peer, bare, done):
    async def stream(case, params, error=False, via=peer):
        await cases('send_streaming_message', case, via.stream(params), error)

    instructions = {'text': 'complete', 'direct': 'direct', 'chunks': 'chunks', 'input_required': 'input'}
    for case, instruction in instructions.items():
        await stream(case, send(instruction))
    if cases.main:
        for case, instruction in {'failed': 'fail', 'rejected': 'reject', 'auth_required': 'auth'}.items():
            await stream(case, send(instruction))
        picture = t.Part(root=t.FilePart(file=t.FileWithBytes(bytes=PNG, mime_type='image/png')))
        await stream('parts', send('echo ü', picture, data({'a': [1, {'b': None}]}), configuration=configure(
            push_notification_config=t.PushNotificationConfig(url=hook('stream', cases), token='token-2'))))
    await stream('error_unknown_task', send('complete', task_id='no-such-task'), error=True)
    await stream('error_terminal_task', send('complete', task_id=done.id), error=True)
    await stream('error_crash', send('crash'), error=True)
    await stream('error_unsupported_by_agent', send('refuse UnsupportedOperationError'), error=True)
    await stream('error_not_supported', send('complete'), error=True, via=bare)


async def record_tasks(cases, peer, done):
    def query(task_id, **members):
        return peer.get_task(t.TaskQueryParams(id=task_id, **members))

    await cases('get_task', 'found', query(done.id))
    await cases('get_task', 'history_zero', query(done.id, history_length=0))
    if cases.main:
        await cases('get_task', 'history_one', query(done.id, history_length=1))
    await cases('get_task', 'error_not_found', query('no-such-task'), error=True)
    await cases('get_task', 'error_negative_history', query(done.id, history_length=-1), error=True)

    def cancel(task_id, **members):
        return peer.cancel_task(t.TaskIdParams(id=task_id, **members))

    task = await start_task(cases, peer)
    await cases('cancel_task', 'running', cancel(task.id))
    await cases('cancel_task', 'canceled_again', cancel(task.id), error=True)
    task = await start_task(cases, peer)
    await cases('cancel_task', 'metadata', cancel(task.id, metadata={'why': 'test'}))
    await cases('cancel_task', 'error_completed', cancel(done.id), error=True)
    await cases('cancel_task', 'error_not_found', cancel('no-such-task'), error=True)


async def start_task(cases, peer, instruction='hang'):
    """Starts a task that keeps running. The 0.2 server always blocks, so there a stream starts it."""
    if not IS_V0_2:
        return await cases.unrecorded(peer.send(send(instruction, configuration=configure(blocking=False))))
    mark()
    stream = peer.stream(send(instruction))
    first = await anext(stream)
    _open_streams.append(asyncio.create_task(collect(stream)))
    return first.root.result if peer.rpc else first


async def record_subscriptions(cases, peer, bare, done):
    def subscribe(task_id, via=peer):
        return via.resubscribe(t.TaskIdParams(id=task_id))

    task = await start_task(cases, peer, 'slow')
    await cases('subscribe_to_task', 'running', subscribe(task.id))
    if cases.main:
        task = await start_task(cases, peer)
        mark(cases.binding, 'subscribe_to_task', 'canceled')
        stream = asyncio.create_task(collect(subscribe(task.id)))
        await asyncio.sleep(0.4)  # this stream has no initial snapshot to wait for
        mark()
        await peer.cancel_task(t.TaskIdParams(id=task.id))
        await asyncio.wait_for(stream, 20)
    await cases('subscribe_to_task', 'error_terminal', subscribe(done.id), error=True)
    await cases('subscribe_to_task', 'error_not_found', subscribe('no-such-task'), error=True)
    await cases('subscribe_to_task', 'error_not_supported', subscribe('no-such-task', bare), error=True)


async def collect(stream) -> None:
    """Reads a stream to its end and ignores errors of the client: only the exchange is recorded."""
    with contextlib.suppress(Exception):
        async for _ in stream:
            pass


async def record_push(cases, peer, bare):
    task = await start_task(cases, peer)
    auth = t.PushNotificationAuthenticationInfo(schemes=['Bearer', 'Basic'], credentials='secret-2')

    def config(name, task_id=task.id, **members):
        return t.TaskPushNotificationConfig(
            task_id=task_id, push_notification_config=t.PushNotificationConfig(url=hook(name, cases), **members))

    def lookup(task_id, config_id):
        return t.GetTaskPushNotificationConfigParams(id=task_id, push_notification_config_id=config_id)

    full = config('created', id='cfg-a', token='token-3', authentication=auth)
    create, get = 'create_push_config', 'get_push_config'
    await cases(create, 'full', peer.set_push(full))
    await cases(create, 'no_id', peer.set_push(config('no_id')))
    await cases(create, 'error_task_not_found', peer.set_push(config('never', 'no-such-task')), error=True)
    await cases(create, 'error_not_supported', bare.set_push(full), error=True)
    await cases(get, 'found', peer.get_push(lookup(task.id, 'cfg-a')))
    await cases(get, 'error_config_not_found', peer.get_push(lookup(task.id, 'no-such-config')), error=True)
    await cases(get, 'error_task_not_found', peer.get_push(lookup('no-such-task', 'cfg-a')), error=True)
    await cases(get, 'error_not_supported', bare.get_push(lookup(task.id, 'cfg-a')), error=True)
    return task


async def record_extended_card(cases, peer, bare, half):
    await cases('get_extended_agent_card', 'full', peer.get_card())
    await cases('get_extended_agent_card', 'error_not_supported', bare.get_card(), error=True)
    await cases('get_extended_agent_card', 'error_not_configured', half.get_card(), error=True)


def record_raw_rpc(cases, task_with_push, done, running):
    """Sends requests that the SDK's client lacks or never sends, to record the responses of its server."""
    hi = {'message': {'kind': 'message', 'messageId': 'raw-1', 'role': 'user',
                      'parts': [{'kind': 'text', 'text': 'complete'}]}}

    def rpc(operation, case, method, params, server='http', **more):
        body = {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params} | more
        cases.rpc(operation, case, body, server=server)

    if running:
        rpc('subscribe_to_task', 'running', 'tasks/resubscribe', {'id': running.id})
        rpc('subscribe_to_task', 'error_terminal', 'tasks/resubscribe', {'id': done.id})
        rpc('subscribe_to_task', 'error_not_found', 'tasks/resubscribe', {'id': 'no-such-task'})
    push = 'tasks/pushNotificationConfig/'
    unknown = {'id': task_with_push.id, 'pushNotificationConfigId': 'no-such-config'}
    rpc('get_push_config', 'by_task_only', push + 'get', {'id': task_with_push.id})
    rpc('list_push_configs', 'two', push + 'list', {'id': task_with_push.id})
    rpc('list_push_configs', 'error_not_supported', push + 'list', {'id': task_with_push.id}, 'bare_http')
    rpc('list_push_configs', 'error_task_not_found', push + 'list', {'id': 'no-such-task'})
    rpc('delete_push_config', 'found', push + 'delete', {'id': task_with_push.id, 'pushNotificationConfigId': 'cfg-a'})
    rpc('delete_push_config', 'unknown_config', push + 'delete', unknown)
    rpc('delete_push_config', 'error_task_not_found', push + 'delete', unknown | {'id': 'no-such-task'})
    rpc('delete_push_config', 'error_not_supported', push + 'delete', unknown, 'bare_http')
    rpc('list_push_configs', 'one_left', push + 'list', {'id': task_with_push.id})
    send_message = 'send_message'
    rpc(send_message, 'number_id', 'message/send', hi)
    rpc(send_message, 'unknown_members', 'message/send', hi | {'surprise': {'a': 1}})
    rpc(send_message, 'no_kind', 'message/send',
        {'message': {'messageId': 'raw-2', 'role': 'user', 'parts': [{'text': 'complete'}]}})
    rpc(send_message, 'error_missing_role', 'message/send',
        {'message': {'messageId': 'r', 'parts': [{'kind': 'text', 'text': 'x'}]}})
    rpc(send_message, 'error_method_not_found', 'no/such/method', {})
    rpc('get_extended_agent_card', 'by_method', 'agent/getAuthenticatedExtendedCard', None)
    if not IS_V0_2:  # 0.2 answers each of these with long validation errors, as above
        text = {'kind': 'text', 'text': 'x'}
        message = {'kind': 'message', 'messageId': 'r', 'role': 'user', 'parts': [text]}
        rpc(send_message, 'null_id', 'message/send', hi, id=None)
        rpc(send_message, 'error_missing_message_id', 'message/send', {'message': {'role': 'user', 'parts': [text]}})
        rpc(send_message, 'error_no_parts', 'message/send', {'message': {'messageId': 'r', 'role': 'user'}})
        rpc(send_message, 'error_unknown_role', 'message/send', {'message': message | {'role': 'ROLE_USER'}})
        rpc(send_message, 'error_empty_part', 'message/send', {'message': message | {'parts': [{}]}})
        rpc(send_message, 'error_no_message', 'message/send', {})
        rpc(send_message, 'error_new_method', 'SendMessage', hi)
        rpc(send_message, 'error_jsonrpc_version', 'message/send', hi, jsonrpc='1.0')
        rpc('get_task', 'error_no_params', 'tasks/get', None)
        not_configured = 'error_by_method_not_configured'
        rpc('get_extended_agent_card', not_configured, 'agent/getAuthenticatedExtendedCard', None, 'half_http')
    cases.rpc(send_message, 'error_parse', '{"jsonrpc": "2.0", ')
    batch = [{'jsonrpc': '2.0', 'id': 1, 'method': 'tasks/get', 'params': {'id': 'x'}}]
    cases.rpc(send_message, 'error_batch', batch)
    cases.rpc(send_message, 'error_not_an_object', '"hello"')
    cases.rpc(send_message, 'error_no_method', {'jsonrpc': '2.0', 'id': 1})
    cases.raw(send_message, 'error_get', 'GET', '/')


def record_raw_rest(cases, task_with_push, done):
    hi = {'message': {'messageId': 'raw-1', 'role': 'ROLE_USER', 'content': [{'text': 'complete'}]}}
    configs = f'/v1/tasks/{task_with_push.id}/pushNotificationConfigs'
    cases.raw('list_push_configs', 'two', 'GET', configs)
    cases.raw('delete_push_config', 'found', 'DELETE', f'{configs}/cfg-a')
    cases.raw('list_tasks', 'all', 'GET', '/v1/tasks')
    cases.raw('send_message', 'snake_case', 'POST', '/v1/message:send', json={
        'request': {'message_id': 'raw-2', 'role': 'ROLE_USER', 'content': [{'text': 'complete'}]}})
    cases.raw('send_message', 'error_kind_parts', 'POST', '/v1/message:send', json={
        'message': {'kind': 'message', 'messageId': 'r', 'role': 'user', 'parts': [{'kind': 'text', 'text': 'x'}]}})
    cases.raw('send_message', 'error_parse', 'POST', '/v1/message:send', content='{"message": ')
    cases.raw('send_message', 'error_wrong_type', 'POST', '/v1/message:send', json={'message': 'hello'})
    cases.raw('send_message', 'error_empty_body', 'POST', '/v1/message:send')
    cases.raw('send_message', 'error_no_route', 'POST', '/v1/no/such/route', json=hi)
    cases.raw('send_message', 'error_wrong_verb', 'GET', '/v1/message:send')
    cases.raw('subscribe_to_task', 'error_post', 'POST', f'/v1/tasks/{done.id}:subscribe')
    cases.raw('get_task', 'error_bad_history', 'GET', f'/v1/tasks/{done.id}?historyLength=many')


async def record_raw_grpc(cases, task_with_push, done):
    """Calls the SDK's generated stub for operations that its client lacks."""
    stub = a2a_pb2_grpc.A2AServiceStub(grpc.aio.insecure_channel(f'127.0.0.1:{PORTS["grpc"]}'))

    async def call(operation, case, method, request):
        mark(cases.binding, operation, case, client='raw')
        try:
            response = method(request)
            if hasattr(response, '__aiter__'):
                await collect(response)
            else:
                await response
        except grpc.aio.AioRpcError:
            pass
        mark()

    parent = f'tasks/{task_with_push.id}'
    await call('list_push_configs', 'two', stub.ListTaskPushNotificationConfig,
               a2a_pb2.ListTaskPushNotificationConfigRequest(parent=parent))
    await call('delete_push_config', 'found', stub.DeleteTaskPushNotificationConfig,
               a2a_pb2.DeleteTaskPushNotificationConfigRequest(name=f'{parent}/pushNotificationConfigs/cfg-a'))
    await call('get_task', 'error_bad_name', stub.GetTask, a2a_pb2.GetTaskRequest(name='no-slash'))
    await call('send_message', 'error_no_message', stub.SendMessage, a2a_pb2.SendMessageRequest())
    if IS_V0_2:
        await call('get_extended_agent_card', 'public', stub.GetAgentCard, a2a_pb2.GetAgentCardRequest())
        await call('subscribe_to_task', 'error_terminal', stub.TaskSubscription,
                   a2a_pb2.TaskSubscriptionRequest(name=f'tasks/{done.id}'))


async def main() -> None:
    card = await record_cards()
    for binding in Peer.bindings:
        cases = Cases(binding)
        peer, bare = Peer(card, binding), Peer(card, binding, 'bare_')
        await record_send(cases, peer)
        done = await cases.unrecorded(peer.send(send('complete')))
        await record_send_errors(cases, peer, bare, done)
        await record_streams(cases, peer, bare, done)
        await record_tasks(cases, peer, done)
        if not IS_V0_2:
            await record_subscriptions(cases, peer, bare, done)
        task_with_push = await record_push(cases, peer, bare)
        if not IS_V0_2:
            await record_extended_card(cases, peer, bare, Peer(card, binding, 'half_'))
        if binding == 'jsonrpc':
            record_raw_rpc(cases, task_with_push, done, await start_task(cases, peer, 'slow') if IS_V0_2 else None)
        if binding == 'rest':
            record_raw_rest(cases, task_with_push, done)
        if binding == 'grpc':
            await record_raw_grpc(cases, task_with_push, done)
        with contextlib.suppress(Exception):
            await cases.unrecorded(peer.cancel_task(t.TaskIdParams(id=task_with_push.id)))


if __name__ == '__main__':
    asyncio.run(main())
