"""Scenarios of a client of the demo server, except webhooks."""

import json
import uuid
from contextlib import aclosing

from checks import (
    check_stored, check_stream, collect, expect, expect_equal, expect_error, expect_task, finished_task, scenario,
    start_task, wait_until_terminal)
from peer import Chunk, Message, Part, Peer, Task

BYTES = bytes(range(256)) + b'\x00\xff=+/'


@scenario
async def card(peer):
    expect(peer.card.name, 'the card has no name')
    expect(peer.card.streaming, 'the card does not declare streaming')
    expect(peer.card.push, 'the card does not declare push notifications')
    return ', '.join(peer.card.bindings)


@scenario
async def extended_card(peer):
    extended = await peer.extended_card()
    expect_equal('name', extended.name, peer.card.name)
    expect(peer.card.extended, 'the card does not declare an extended card')
    expect(extended.description != peer.card.description, 'the extended card is the public one')
    return extended.description


@scenario
async def send(peer):
    task = expect_task(await peer.send('echo hello'), 'completed')
    expect_equal('text', task.text, 'hello')
    expect_equal('request text', task.history[0].text, 'echo hello')
    expect_equal('request role', task.history[0].role, 'user')
    return task.id


@scenario
async def send_text(peer):
    for text in ('Grüße, 世界 🌍 "quoted" \\ \u2028 end,\n\ttab', 'x' * 100_000):
        expect_equal('text', expect_task(await peer.send(f'echo {text}'), 'completed').text, text)


@scenario
async def send_context(peer):
    context = f'context-{uuid.uuid4()}'
    first = expect_task(await peer.send('echo one', context=context), 'completed')
    second = expect_task(await peer.send('echo two', context=context), 'completed')
    expect_equal('contexts', [first.context, second.context], [context, context])
    expect(first.id != second.id, 'two tasks have the same id')


@scenario
async def send_history(peer):
    one = expect_task(await peer.send('echo hello', history=1), 'completed')
    expect_equal('history of length 1', len(one.history), 1)
    if peer.supports_zero_history:
        none = expect_task(await peer.send('echo hello', history=0), 'completed')
        expect_equal('history of length 0', none.history, [])


@scenario
async def return_immediately(peer):
    task = await start_task(peer, 'wait 400')
    done = await wait_until_terminal(peer, task.id)
    expect_equal('state', done.state, 'completed')
    expect_equal('context', done.context, task.context)


@scenario
async def direct_message(peer):
    reply = await peer.send('say hello there')
    expect(isinstance(reply, Message), f'expected a message, got {type(reply).__name__}')
    expect_equal('text', reply.text, 'hello there')
    expect_equal('role', reply.role, 'agent')
    expect(reply.id and reply.context and not reply.task, f'wrong ids of a direct reply: {reply}')


async def check_parts_stored(peer: Peer, *parts: Part) -> None:
    """Sends parts, and checks that the server stores them unchanged."""
    task = expect_task(await peer.send('echo with parts', *parts), 'completed')
    stored = (await peer.get(task.id)).history[0].parts[1:]
    if not peer.keeps_file_metadata:
        parts = [Part(part.kind, part.value) for part in parts]
    expect_equal('stored parts', stored, list(parts))


@scenario
async def file_bytes(peer):
    await check_parts_stored(peer, Part('bytes', BYTES, 'all bytes.bin', 'application/octet-stream'))
    task = expect_task(await peer.send('file report.bin 1000'), 'completed')
    [part] = [part for part in task.parts if part.kind == 'bytes']
    expect_equal('size', len(part.value), 1000)
    expect_equal('name', part.name, 'report.bin' if peer.keeps_file_metadata else '')
    return part.media_type


@scenario
async def file_url(peer):
    url = 'https://files.example/a%20b.bin'
    await check_parts_stored(peer, Part('url', url, 'a b.bin', 'application/octet-stream'))
    task = expect_task(await peer.send('url https://files.example/x?y=1&z=%20'), 'completed')
    [part] = [part for part in task.parts if part.kind == 'url']
    expect_equal('URL', part.value, 'https://files.example/x?y=1&z=%20')


@scenario
async def data(peer):
    value = {'nested': {'list': [1, 2.5, -3, 'x', None, True], 'empty': {}, 'none': []}, 'ü': 'é'}
    await check_parts_stored(peer, Part('data', value))
    task = expect_task(await peer.send(f'data {json.dumps(value)}'), 'completed')
    expect_equal('data', [part.value for part in task.parts if part.kind == 'data'], [value])


@scenario
async def failed(peer):
    expect_equal('reason', expect_task(await peer.send('fail it broke'), 'failed').status_text, 'it broke')


@scenario
async def rejected(peer):
    expect_equal('reason', expect_task(await peer.send('reject not for me'), 'rejected').status_text, 'not for me')


@scenario
async def input_required(peer):
    waiting = expect_task(await peer.send('ask which colour?'), 'input-required')
    expect_equal('question', waiting.status_text, 'which colour?')
    expect_equal('stored state', (await peer.get(waiting.id)).state, 'input-required')
    done = expect_task(await peer.send('blue', task=waiting.id, context=waiting.context), 'completed')
    expect_equal('ids', (done.id, done.context), (waiting.id, waiting.context))
    second = expect_task(await peer.send('ask which size?'), 'input-required')
    done = expect_task(await peer.send('large', task=second.id), 'completed')
    expect_equal('context of a message without one', done.context, second.context)


@scenario
async def auth_required(peer):
    waiting = expect_task(await peer.send('auth'), 'auth-required')
    done = expect_task(await peer.send('here you are', task=waiting.id, context=waiting.context), 'completed')
    expect_equal('ids', (done.id, done.context), (waiting.id, waiting.context))


@scenario
async def stream(peer):
    events = await collect(peer.stream('echo hello'))
    task = check_stream(events, 'completed')
    expect_equal('text', task.text, 'hello')
    await check_stored(peer, task)
    return ', '.join(type(event).__name__ for event in events)


@scenario
async def stream_message(peer):
    [reply] = await collect(peer.stream('say hello there'))
    expect(isinstance(reply, Message), f'expected a message, got {type(reply).__name__}')
    expect_equal('text', reply.text, 'hello there')


@scenario
async def stream_chunks(peer):
    events = await collect(peer.stream('chunks 6 20'))
    task = check_stream(events, 'completed')
    chunks = [event for event in events if isinstance(event, Chunk)]
    expect_equal('appended', [chunk.append for chunk in chunks], [False] + [True] * 5)
    expect_equal('last', [chunk.last for chunk in chunks], [False] * 5 + [True])
    expect(task.text, 'the chunks have no text')
    await check_stored(peer, task)


@scenario
async def stream_burst(peer):
    events = await collect(peer.stream('burst 500'))
    await check_stored(peer, check_stream(events, 'completed'))
    expect(len(events) > 500, f'only {len(events)} events')


@scenario
async def stream_failed(peer):
    task = check_stream(await collect(peer.stream('fail it broke')), 'failed')
    expect_equal('reason', task.status_text, 'it broke')


@scenario
async def stream_input_required(peer):
    waiting = check_stream(await collect(peer.stream('ask which colour?')), 'input-required')
    expect_equal('question', waiting.status_text, 'which colour?')
    done = check_stream(await collect(peer.stream('blue', task=waiting.id, context=waiting.context)), 'completed')
    expect_equal('ids', (done.id, done.context), (waiting.id, waiting.context))


@scenario
async def stream_left(peer):
    async with aclosing(peer.stream('chunks 4 100')) as events:
        first = await anext(events)
        expect(isinstance(first, Task), f'the first event is a {type(first).__name__}, not a task')
    done = await wait_until_terminal(peer, first.id)
    expect_equal('state', done.state, 'completed')
    complete = check_stream(await collect(peer.stream('chunks 4 1')), 'completed')
    expect_equal('text', done.text, complete.text)


@scenario
async def get(peer):
    waiting = expect_task(await peer.send('ask which colour?'), 'input-required')
    done = expect_task(await peer.send('blue', task=waiting.id), 'completed')
    stored = await peer.get(done.id)
    expect_equal('ids', (stored.id, stored.context, stored.state), (done.id, done.context, 'completed'))
    expect_equal('user messages', [m.text for m in stored.history if m.role == 'user'], ['ask which colour?', 'blue'])
    if peer.supports_history:
        expect_equal('history of length 1', (await peer.get(done.id, history=1)).history, stored.history[-1:])
    if peer.supports_zero_history:
        expect_equal('history of length 0', (await peer.get(done.id, history=0)).history, [])


@scenario
async def list_tasks(peer):
    context = f'context-{uuid.uuid4()}'
    first = expect_task(await peer.send('echo one', context=context), 'completed')
    second = expect_task(await peer.send('fail two', context=context), 'failed')
    page = await peer.list(context_id=context)
    expect_equal('tasks, newest first', [task.id for task in page.tasks], [second.id, first.id])
    expect_equal('total and next', (page.total, page.next), (2, ''))
    expect_equal('artifacts', [task.artifacts for task in page.tasks], [[], []])
    page = await peer.list(context_id=context, status='completed', include_artifacts=True)
    expect_equal('completed tasks', [(task.id, task.text) for task in page.tasks], [(first.id, 'one')])
    expect_equal('tasks of an unknown context', (await peer.list(context_id='no-such-context')).tasks, [])


@scenario
async def list_pages(peer):
    context = f'context-{uuid.uuid4()}'
    created = [expect_task(await peer.send(f'echo {n}', context=context), 'completed').id for n in range(3)]
    page = await peer.list(context_id=context, page_size=2)
    expect_equal('first page', (len(page.tasks), page.size, page.total), (2, 2, 3))
    expect(page.next, 'the first page has no token for the next one')
    last = await peer.list(context_id=context, page_size=2, page_token=page.next)
    expect_equal('last page', (len(last.tasks), last.total, last.next), (1, 3, ''))
    expect_equal('all tasks', sorted(task.id for task in page.tasks + last.tasks), sorted(created))


@scenario
async def cancel(peer):
    task = await start_task(peer, 'wait 60000')
    canceled = expect_task(await peer.cancel(task.id), 'canceled')
    expect_equal('ids', (canceled.id, canceled.context), (task.id, task.context))
    expect_equal('stored state', (await peer.get(task.id)).state, 'canceled')
    expect_equal('state after a second cancellation', (await peer.cancel(task.id)).state, 'canceled')


@scenario
async def cancel_waiting(peer):
    waiting = expect_task(await peer.send('ask which colour?'), 'input-required')
    expect_task(await peer.cancel(waiting.id), 'canceled')


@scenario
async def subscribe(peer):
    task = await start_task(peer, 'chunks 6 100')
    events = await collect(peer.subscribe(task.id))
    streamed = check_stream(events, 'completed')
    expect_equal('id', streamed.id, task.id)
    expect(any(isinstance(event, Chunk) for event in events), 'the subscription received no chunk')
    await check_stored(peer, streamed)


@scenario
async def subscribe_canceled(peer):
    task = await start_task(peer, 'wait 60000')
    events = []
    async for event in peer.subscribe(task.id):
        events.append(event)
        if len(events) == 1:
            await peer.cancel(task.id)
    check_stream(events, 'canceled')


@scenario
async def subscribe_waiting(peer):
    waiting = expect_task(await peer.send('ask which colour?'), 'input-required')
    events = []
    async for event in peer.subscribe(waiting.id):
        events.append(event)
        if len(events) == 1:
            expect_equal('first state', event.state, 'input-required')
            expect_task(await peer.send('blue', task=waiting.id), 'completed')
    check_stream(events, 'completed')


@scenario
async def unknown_get(peer):
    return await expect_error(peer, 'TaskNotFound', peer.get('no-such-task'))


@scenario
async def unknown_cancel(peer):
    return await expect_error(peer, 'TaskNotFound', peer.cancel('no-such-task'))


@scenario
async def unknown_subscribe(peer):
    return await expect_error(peer, 'TaskNotFound', peer.subscribe('no-such-task'))


@scenario
async def unknown_send(peer):
    return await expect_error(peer, 'TaskNotFound', peer.send('echo hello', task='no-such-task'))


@scenario
async def unknown_stream(peer):
    return await expect_error(peer, 'TaskNotFound', peer.stream('echo hello', task='no-such-task'))


@scenario
async def finished_send(peer):
    task = await finished_task(peer)
    return await expect_error(peer, 'UnsupportedOperation', peer.send('echo more', task=task.id, context=task.context))


@scenario
async def finished_stream(peer):
    task = await finished_task(peer)
    stream = peer.stream('echo more', task=task.id, context=task.context)
    return await expect_error(peer, 'UnsupportedOperation', stream)


@scenario
async def finished_cancel(peer):
    return await expect_error(peer, 'TaskNotCancelable', peer.cancel((await finished_task(peer)).id))


@scenario
async def finished_subscribe(peer):
    return await expect_error(peer, 'UnsupportedOperation', peer.subscribe((await finished_task(peer)).id))


@scenario
async def other_context(peer):
    waiting = expect_task(await peer.send('ask which colour?'), 'input-required')
    message = await expect_error(peer, 'InvalidParams', peer.send('blue', task=waiting.id, context='another'))
    expect_equal('stored state', (await peer.get(waiting.id)).state, 'input-required')
    return message


@scenario
async def no_parts(peer):
    return await expect_error(peer, 'InvalidParams', peer.send())


@scenario
async def negative_history(peer):
    task = await finished_task(peer)
    await expect_error(peer, 'InvalidParams', peer.send('echo hello', history=-1))
    return await expect_error(peer, 'InvalidParams', peer.get(task.id, history=-1))


@scenario
async def page_size(peer):
    for size in (0, 101, -1):
        await expect_error(peer, 'InvalidParams', peer.list(page_size=size))


@scenario
async def page_token(peer):
    return await expect_error(peer, 'InvalidParams', peer.list(page_token='garbled'))


@scenario
async def content_type(peer):
    part = Part('bytes', b'MZ', 'a.exe', 'application/x-msdownload')
    return await expect_error(peer, 'ContentTypeNotSupported', peer.minimal.send('hello', part))


@scenario
async def version(peer):
    return await expect_error(peer, 'VersionNotSupported', peer.send_as('9.9'))
