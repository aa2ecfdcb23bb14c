"""Calls an a2a-sdk 1.x server with the SDK's own client, over version 1.0 or (--compat) its 0.3 transports."""

import seed  # noqa: F401  must be imported first

import asyncio
import sys

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct, Value

from mark import PORTS, Cases, hook, mark

COMPAT = '--compat' in sys.argv
VERSION = '0.3' if COMPAT else '1.0'
BINDINGS = {'jsonrpc': 'JSONRPC', 'rest': 'HTTP+JSON', 'grpc': 'GRPC'}
TRACE = 'https://extensions.example/trace/v1'
PNG = bytes.fromhex('89504e470d0a1a0a00fffe')
_messages = iter(range(1, 10000))


def message(*parts, **members) -> pb.Message:
    parts = [pb.Part(text=p) if isinstance(p, str) else p for p in parts]
    return pb.Message(message_id=f'm{next(_messages)}', role=pb.ROLE_USER, parts=parts, **members)


def send(*parts, configuration=None, request_metadata=None, **members) -> pb.SendMessageRequest:
    return pb.SendMessageRequest(
        message=message(*parts, **members), configuration=configuration, metadata=request_metadata)


def struct(value: dict) -> Struct:
    return ParseDict(value, Struct())


def data(value) -> pb.Part:
    return pb.Part(data=ParseDict(value, Value()))


def push(name: str, cases: Cases, **members) -> pb.TaskPushNotificationConfig:
    return pb.TaskPushNotificationConfig(url=hook(name, cases), **members)


def create_client(card: pb.AgentCard, binding: str, server: str = '', streaming: bool = False, tenant: str = ''):
    port = PORTS[f'{server}grpc' if binding == 'grpc' else f'{server}http']
    local_card = pb.AgentCard()
    local_card.CopyFrom(card)
    local_card.ClearField('supported_interfaces')
    local_card.capabilities.streaming = True
    local_card.capabilities.push_notifications = True
    local_card.capabilities.extended_agent_card = True
    local_card.supported_interfaces.add(
        url=f'127.0.0.1:{port}' if binding == 'grpc' else f'http://127.0.0.1:{port}',
        protocol_binding=BINDINGS[binding], protocol_version=VERSION, tenant=tenant)
    return ClientFactory(ClientConfig(
        streaming=streaming, httpx_client=httpx.AsyncClient(timeout=20), grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[BINDINGS[binding]])).create(local_card)


async def last_task(stream) -> pb.Task:
    return [item async for item in stream][-1].task


async def record_card() -> pb.AgentCard:
    cases = Cases('card')
    async with httpx.AsyncClient() as http:
        async def fetch(server):
            return await A2ACardResolver(http, f'http://127.0.0.1:{PORTS[server]}').get_agent_card()
        await cases('get_agent_card', 'bare', fetch('bare_http'))
        return await cases('get_agent_card', 'full', fetch('http'))


async def record_send(cases, client, card):
    async def ok(case, request, **options):
        return await cases('send_message', case, client.send_message(request, **options))

    await ok('text', send('complete please'))
    await ok('direct', send('direct', context_id='ctx-direct'))
    if cases.binding != 'grpc':
        await ok('non_ascii', send('echo Grüße, 世界 🌍 "quoted" \\ \u2028 end\n\ttab'))
    await ok('parts', send(
        'echo',
        pb.Part(raw=PNG, filename='dot.png', media_type='image/png', metadata=struct({'width': 1})),
        pb.Part(url='https://files.example/a%20b.pdf', filename='a b.pdf', media_type='application/pdf'),
        data({'nested': {'list': [1, 2.5, -3, 'x', None, True], 'empty': {}, 'none': []}, 'ü': 'é'}),
    ))
    if not COMPAT:
        await ok('data_values', send('echo', data([1, 'two', None]), data('text'), data(4.5), data(False), data(None)))
    else:
        await ok('data_values', send('echo', data([1, 'two', None]), data('text'), data(4.5)))
    await ok('full', send(
        'echo everything', context_id='ctx-full', extensions=[TRACE], reference_task_ids=['earlier-1', 'earlier-2'],
        metadata=struct({'trace': 'abc', 'n': 7, TRACE: {'deep': [1, {'a': None}]}}),
        request_metadata=struct({'caller': 'fixtures', 'list': [True, 'x']}),
        configuration=pb.SendMessageConfiguration(
            accepted_output_modes=['text/plain', 'application/json'], history_length=1,
            task_push_notification_config=push(
                'full', cases, id='cfg-1', token='token-1',
                authentication=pb.AuthenticationInfo(scheme='Bearer', credentials='secret-1')))),
        context=ClientCallContext(service_parameters={'A2A-Extensions': f'{TRACE},https://extensions.example/plain/v1'}))
    await ok('history_zero', send('complete', configuration=pb.SendMessageConfiguration(history_length=0)))
    await ok('return_immediately', send('slow', configuration=pb.SendMessageConfiguration(return_immediately=True)))
    await asyncio.sleep(0.8)  # lets the slow task end, so that every run reads the clock equally often
    for state in ('fail', 'reject', 'input', 'auth'):
        await ok({'fail': 'failed', 'reject': 'rejected', 'input': 'input_required', 'auth': 'auth_required'}[state],
                 send(state))
    if cases.main:
        waiting = await cases.unrecorded(last_task(client.send_message(send('input'))))
        await ok('follow_up', send('complete', task_id=waiting.id, context_id=waiting.context_id))
    if not COMPAT:
        tenant = create_client(card, cases.binding, tenant='acme')
        await cases('send_message', 'tenant', tenant.send_message(send('complete')))


async def record_send_errors(cases, client, bare, done):
    async def bad(case, request, via=client):
        await cases('send_message', case, via.send_message(request), error=True)

    await bad('error_unknown_task', send('complete', task_id='no-such-task'))
    await bad('error_terminal_task', send('complete', task_id=done.id, context_id=done.context_id))
    waiting = await cases.unrecorded(last_task(client.send_message(send('input'))))
    await bad('error_context_mismatch', send('complete', task_id=waiting.id, context_id='another'))
    await bad('error_content_type', send(pb.Part(text='complete', media_type='text/html')))
    await bad('error_no_parts', send())
    await bad('error_no_message', pb.SendMessageRequest())
    await bad('error_negative_history', send('complete', configuration=pb.SendMessageConfiguration(history_length=-1)))
    await bad('error_crash', send('crash'))
    for name in ('UnsupportedOperationError', 'ContentTypeNotSupportedError', 'InvalidAgentResponseError',
                 'ExtensionSupportRequiredError', 'PushNotificationNotSupportedError', 'InternalError'):
        await bad('error_' + ''.join(f'_{c.lower()}' if c.isupper() else c for c in name[:-5])[1:] + '_by_agent',
                  send(f'refuse {name}'))
    await cases('send_message', 'push_without_support', bare.send_message(send(
        'complete', configuration=pb.SendMessageConfiguration(
            task_push_notification_config=push('never', cases)))), error=True)


async def record_streams(cases, streaming, bare_streaming, done):
    async def stream(case, request, error=False, via=streaming):
        await cases('send_streaming_message', case, via.send_message(request), error)

    instructions = {'text': 'complete', 'direct': 'direct', 'chunks': 'chunks', 'input_required': 'input'}
    for case, instruction in instructions.items():
        await stream(case, send(instruction))
    if cases.main:
        for case, instruction in {'failed': 'fail', 'rejected': 'reject', 'auth_required': 'auth'}.items():
            await stream(case, send(instruction))
        await stream('parts', send(
            'echo ü', pb.Part(raw=PNG, media_type='image/png'), data({'a': [1, {'b': None}]}),
            configuration=pb.SendMessageConfiguration(
                task_push_notification_config=push('stream', cases, token='token-2'))))
    await stream('error_unknown_task', send('complete', task_id='no-such-task'), error=True)
    await stream('error_terminal_task', send('complete', task_id=done.id), error=True)
    await stream('error_no_parts', send(), error=True)
    await stream('error_crash', send('crash'), error=True)
    await stream('error_unsupported_by_agent', send('refuse UnsupportedOperationError'), error=True)
    await stream('error_not_supported', send('complete'), error=True, via=bare_streaming)


async def record_tasks(cases, client, done):
    context = done.context_id
    get = 'get_task'
    await cases(get, 'found', client.get_task(pb.GetTaskRequest(id=done.id)))
    await cases(get, 'history_zero', client.get_task(pb.GetTaskRequest(id=done.id, history_length=0)))
    if cases.main:
        await cases(get, 'history_one', client.get_task(pb.GetTaskRequest(id=done.id, history_length=1)))
    await cases(get, 'error_not_found', client.get_task(pb.GetTaskRequest(id='no-such-task')), error=True)
    await cases(get, 'error_no_id', client.get_task(pb.GetTaskRequest()), error=True)
    negative_history = pb.GetTaskRequest(id=done.id, history_length=-1)
    await cases(get, 'error_negative_history', client.get_task(negative_history), error=True)

    if not COMPAT:
        await cases.unrecorded(last_task(client.send_message(send('fail', context_id=context))))
        await cases.unrecorded(last_task(client.send_message(send('complete', context_id=context))))
        listing = 'list_tasks'
        first_page = pb.ListTasksRequest(context_id=context, page_size=2)
        page = await cases(listing, 'first_page', client.list_tasks(first_page))
        await cases(listing, 'next_page', client.list_tasks(
            pb.ListTasksRequest(context_id=context, page_size=2, page_token=page.next_page_token)))
        after = pb.ListTasksRequest(
            context_id=context, status=pb.TASK_STATE_COMPLETED, history_length=1, include_artifacts=True, page_size=5)
        after.status_timestamp_after.FromJsonString('2026-01-01T00:00:00.5Z')
        await cases(listing, 'filters', client.list_tasks(after))
        history_zero = pb.ListTasksRequest(context_id=context, history_length=0)
        await cases(listing, 'history_zero', client.list_tasks(history_zero))
        await cases(listing, 'empty', client.list_tasks(pb.ListTasksRequest(context_id='nothing-here')))
        for case, size in {'error_page_size_zero': 0, 'error_page_size_large': 101}.items():
            await cases(listing, case, client.list_tasks(pb.ListTasksRequest(page_size=size)), error=True)
        invalid_token = pb.ListTasksRequest(page_token='garbled')
        await cases(listing, 'error_page_token', client.list_tasks(invalid_token), error=True)

    async def start_hanging_task():
        configuration = pb.SendMessageConfiguration(return_immediately=True)
        return await cases.unrecorded(last_task(client.send_message(send('hang', configuration=configuration))))

    cancel = 'cancel_task'
    task = await start_hanging_task()
    await cases(cancel, 'running', client.cancel_task(pb.CancelTaskRequest(id=task.id)))
    await cases(cancel, 'canceled_again', client.cancel_task(pb.CancelTaskRequest(id=task.id)), error=True)
    task = await start_hanging_task()
    with_metadata = pb.CancelTaskRequest(id=task.id, metadata=struct({'why': 'test'}))
    await cases(cancel, 'metadata', client.cancel_task(with_metadata))
    await cases(cancel, 'error_completed', client.cancel_task(pb.CancelTaskRequest(id=done.id)), error=True)
    await cases(cancel, 'error_not_found', client.cancel_task(pb.CancelTaskRequest(id='no-such-task')), error=True)


async def record_subscriptions(cases, client, streaming, bare_streaming, done):
    async def start_task(instruction):
        configuration = pb.SendMessageConfiguration(return_immediately=True)
        return await cases.unrecorded(last_task(client.send_message(send(instruction, configuration=configuration))))

    def subscribe(task_id, via=streaming):
        return via.subscribe(pb.SubscribeToTaskRequest(id=task_id))

    async def subscribe_until_canceled():
        task = await start_task('hang')
        mark(cases.binding, 'subscribe_to_task', 'canceled')
        async for _ in subscribe(task.id):
            mark()
            if task is not None:
                canceled, task = task, None
                asyncio.create_task(client.cancel_task(pb.CancelTaskRequest(id=canceled.id)))

    task = await start_task('slow')
    await cases('subscribe_to_task', 'running', subscribe(task.id))
    if cases.main:
        await asyncio.wait_for(subscribe_until_canceled(), 20)
    await cases('subscribe_to_task', 'error_terminal', subscribe(done.id), error=True)
    await cases('subscribe_to_task', 'error_not_found', subscribe('no-such-task'), error=True)
    await cases('subscribe_to_task', 'error_not_supported', subscribe('no-such-task', bare_streaming), error=True)


async def record_push(cases, client, bare):
    configuration = pb.SendMessageConfiguration(return_immediately=True)
    task = await cases.unrecorded(last_task(client.send_message(send('hang', configuration=configuration))))
    auth = pb.AuthenticationInfo(scheme='Bearer', credentials='secret-2')
    full = push('created', cases, task_id=task.id, id='cfg-a', token='token-3', authentication=auth)
    create, get, list_configs = 'create_push_config', 'get_push_config', 'list_push_configs'
    delete = 'delete_push_config'
    await cases(create, 'full', client.create_task_push_notification_config(full))
    await cases(create, 'no_id', client.create_task_push_notification_config(
        push('no_id', cases, task_id=task.id)))
    await cases(create, 'error_task_not_found', client.create_task_push_notification_config(
        push('never', cases, task_id='no-such-task')), error=True)
    await cases(create, 'error_not_supported', bare.create_task_push_notification_config(full), error=True)
    lookup = pb.GetTaskPushNotificationConfigRequest
    await cases(get, 'found', client.get_task_push_notification_config(lookup(task_id=task.id, id='cfg-a')))
    await cases(get, 'error_config_not_found', client.get_task_push_notification_config(
        lookup(task_id=task.id, id='no-such-config')), error=True)
    await cases(get, 'error_task_not_found', client.get_task_push_notification_config(
        lookup(task_id='no-such-task', id='cfg-a')), error=True)
    await cases(get, 'error_not_supported', bare.get_task_push_notification_config(
        lookup(task_id=task.id, id='cfg-a')), error=True)
    listing = pb.ListTaskPushNotificationConfigsRequest
    await cases(list_configs, 'two', client.list_task_push_notification_configs(listing(task_id=task.id)))
    if not COMPAT:
        page = listing(task_id=task.id, page_size=1)
        await cases(list_configs, 'paged', client.list_task_push_notification_configs(page))
    await cases(list_configs, 'error_not_supported',
                bare.list_task_push_notification_configs(listing(task_id=task.id)), error=True)
    await cases.unrecorded(client.cancel_task(pb.CancelTaskRequest(id=task.id)))
    removal = pb.DeleteTaskPushNotificationConfigRequest
    await cases(delete, 'found', client.delete_task_push_notification_config(removal(task_id=task.id, id='cfg-a')))
    await cases(delete, 'unknown_config', client.delete_task_push_notification_config(
        removal(task_id=task.id, id='no-such-config')))
    await cases(delete, 'error_task_not_found', client.delete_task_push_notification_config(
        removal(task_id='no-such-task', id='cfg-a')), error=True)
    await cases(delete, 'error_not_supported', bare.delete_task_push_notification_config(
        removal(task_id=task.id, id='cfg-a')), error=True)
    if cases.main:
        await cases(list_configs, 'one_left', client.list_task_push_notification_configs(listing(task_id=task.id)))


async def record_extended_card(cases, client, bare, half):
    request = pb.GetExtendedAgentCardRequest()
    await cases('get_extended_agent_card', 'full', client.get_extended_agent_card(request))
    await cases('get_extended_agent_card', 'error_not_supported', bare.get_extended_agent_card(request), error=True)
    await cases('get_extended_agent_card', 'error_not_configured', half.get_extended_agent_card(request), error=True)


def record_raw_jsonrpc(cases):
    """Sends requests that the SDK's client never sends, to record the responses of its server."""
    v1 = {'a2a-version': '1.0'}
    hi = {'message': {'messageId': 'raw-1', 'role': 'ROLE_USER', 'parts': [{'text': 'complete'}]}}

    def rpc(case, method, params, headers=v1, operation='send_message', **more):
        body = {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params} | more
        cases.rpc(operation, case, body, headers)

    rpc('number_id', 'SendMessage', hi)
    rpc('null_id', 'SendMessage', hi, id=None)
    rpc('snake_case', 'SendMessage', {'message': {'message_id': 'raw-2', 'role': 1, 'parts': [{'text': 'complete'}]}})
    rpc('unknown_members', 'SendMessage', hi | {'surprise': {'a': 1}})
    rpc('version_patch', 'SendMessage', hi, {'a2a-version': '1.0.1'})
    rpc('error_version_not_supported', 'SendMessage', hi, {'a2a-version': '9.9'})
    rpc('error_version_missing', 'SendMessage', hi, {})
    rpc('error_missing_role', 'SendMessage', {'message': {'messageId': 'raw-3', 'parts': [{'text': 'complete'}]}})
    rpc('error_missing_message_id', 'SendMessage', {'message': {'role': 'ROLE_USER', 'parts': [{'text': 'complete'}]}})
    rpc('error_unknown_role', 'SendMessage',
        {'message': {'messageId': 'r', 'role': 'user', 'parts': [{'text': 'complete'}]}})
    rpc('error_empty_part', 'SendMessage', {'message': {'messageId': 'r', 'role': 'ROLE_USER', 'parts': [{}]}})
    rpc('error_two_contents', 'SendMessage', {
        'message': {'messageId': 'r', 'role': 'ROLE_USER', 'parts': [{'text': 'complete', 'url': 'https://x.example'}]}})
    rpc('error_wrong_type', 'SendMessage', {'message': 'hello'})
    rpc('error_method_not_found', 'NoSuchMethod', {})
    rpc('error_jsonrpc_version', 'SendMessage', hi, jsonrpc='1.0')
    cases.rpc('send_message', 'error_parse', '{"jsonrpc": "2.0", ', v1)
    batch = [{'jsonrpc': '2.0', 'id': 1, 'method': 'GetTask', 'params': {'id': 'x'}}]
    cases.rpc('send_message', 'error_batch', batch, v1)
    cases.rpc('send_message', 'error_not_an_object', '"hello"', v1)
    cases.rpc('send_message', 'error_no_method', {'jsonrpc': '2.0', 'id': 1}, v1)
    cases.raw('send_message', 'error_get', 'GET', '/', v1)
    rpc('error_version_not_supported', 'SendStreamingMessage', hi, {'a2a-version': '9.9'}, 'send_streaming_message')
    rpc('error_no_params', 'GetTask', None, v1, 'get_task')
    cases.rpc('get_extended_agent_card', 'no_params', {'jsonrpc': '2.0', 'id': 1, 'method': 'GetExtendedAgentCard'}, v1)


def record_raw_rest(cases, done):
    v1 = {'a2a-version': '1.0'}
    hi = {'message': {'messageId': 'raw-1', 'role': 'ROLE_USER', 'parts': [{'text': 'complete'}]}}
    a2a = v1 | {'content-type': 'application/a2a+json', 'accept': 'application/a2a+json'}
    cases.raw('send_message', 'a2a_json', 'POST', '/message:send', a2a, json=hi)
    cases.raw('send_message', 'error_version_not_supported', 'POST', '/message:send', {'a2a-version': '9.9'}, json=hi)
    cases.raw('send_message', 'error_version_missing', 'POST', '/message:send', json=hi)
    cases.raw('send_message', 'error_parse', 'POST', '/message:send', v1, content='{"message": ')
    cases.raw('send_message', 'error_wrong_type', 'POST', '/message:send', v1, json={'message': 'hello'})
    cases.raw('send_message', 'error_empty_body', 'POST', '/message:send', v1)
    cases.raw('send_message', 'error_media_type', 'POST', '/message:send', v1 | {'content-type': 'text/plain'}, json=hi)
    cases.raw('send_message', 'error_missing_message_id', 'POST', '/message:send', v1,
              json={'message': {'role': 'ROLE_USER', 'parts': [{'text': 'complete'}]}})
    cases.raw('send_message', 'error_no_route', 'POST', '/no/such/route', v1, json=hi)
    cases.raw('send_message', 'error_wrong_verb', 'GET', '/message:send', v1)
    cases.raw('send_streaming_message', 'error_version_not_supported', 'POST', '/message:stream',
              {'a2a-version': '9.9'}, json=hi)
    cases.raw('get_task', 'error_bad_history', 'GET', f'/tasks/{done.id}?historyLength=many', v1)
    cases.raw('list_tasks', 'unknown_status', 'GET', '/tasks?contextId=nothing-here&status=WRONG', v1)
    cases.raw('list_tasks', 'error_bad_timestamp', 'GET', '/tasks?statusTimestampAfter=yesterday', v1)
    cases.raw('subscribe_to_task', 'get_terminal', 'GET', f'/tasks/{done.id}:subscribe', v1)


async def main() -> None:
    card = await record_card()
    Cases('card').raw('get_agent_card', 'no_version', 'GET', '/.well-known/agent-card.json', server='bare_http')
    for binding in BINDINGS:
        cases = Cases(binding)
        client, streaming = create_client(card, binding), create_client(card, binding, streaming=True)
        bare = create_client(card, binding, 'bare_')
        bare_streaming = create_client(card, binding, 'bare_', streaming=True)
        half = create_client(card, binding, 'half_')
        await record_send(cases, client, card)
        done = await cases.unrecorded(last_task(client.send_message(send('complete'))))
        await record_send_errors(cases, client, bare, done)
        await record_streams(cases, streaming, bare_streaming, done)
        await record_tasks(cases, client, done)
        await record_subscriptions(cases, client, streaming, bare_streaming, done)
        await record_push(cases, client, bare)
        await record_extended_card(cases, client, bare, half)
        if binding == 'jsonrpc' and not COMPAT:
            record_raw_jsonrpc(cases)
        if binding == 'rest' and not COMPAT:
            record_raw_rest(cases, done)


if __name__ == '__main__':
    asyncio.run(main())
