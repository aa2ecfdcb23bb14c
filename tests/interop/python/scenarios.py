"""What a client asks of the demo server, and what must come back; webhooks are apart."""

import json
import uuid
from contextlib import aclosing

from checks import a_task, agrees, coherent, ended, expect, finished, listened, refused, same, scenario, started
from peer import Chunk, Message, Part, Peer, Task

BYTES = bytes(range(256)) + b'\x00\xff=+/'


@scenario
async def card(peer):
    expect(peer.card.name, 'a card without a name')
    expect(peer.card.streaming, 'the card says that the agent does not stream')
    expect(peer.card.push, 'the card says that the agent has no webhooks')
    return ', '.join(peer.card.bindings)


@scenario
async def extended_card(peer):
    extended = await peer.extended_card()
    same('name', extended.name, peer.card.name)
    expect(peer.card.extended, 'the card does not say that there is an extended one')
    expect(extended.description != peer.card.description, 'the public card in place of the extended one')
    return extended.description


@scenario
async def send(peer):
    task = a_task(await peer.send('echo hello'), 'completed')
    same('text', task.text, 'hello')
    same('what was asked', task.history[0].text, 'echo hello')
    same('who asked', task.history[0].role, 'user')
    return task.id


@scenario
async def send_text(peer):
    for text in ('Grüße, 世界 🌍 "quoted" \\ \u2028 end,\n\ttab', 'x' * 100_000):
        same('text', a_task(await peer.send(f'echo {text}'), 'completed').text, text)


@scenario
async def send_context(peer):
    context = f'context-{uuid.uuid4()}'
    first = a_task(await peer.send('echo one', context=context), 'completed')
    second = a_task(await peer.send('echo two', context=context), 'completed')
    same('contexts', [first.context, second.context], [context, context])
    expect(first.id != second.id, 'two tasks with one id')


@scenario
async def send_history(peer):
    one = a_task(await peer.send('echo hello', history=1), 'completed')
    same('history of one', len(one.history), 1)
    if peer.asks_for_no_history:
        same('history of none', a_task(await peer.send('echo hello', history=0), 'completed').history, [])


@scenario
async def return_immediately(peer):
    task = await started(peer, 'wait 400')
    done = await ended(peer, task.id)
    same('state', done.state, 'completed')
    same('context', done.context, task.context)


@scenario
async def direct_message(peer):
    answer = await peer.send('say hello there')
    expect(isinstance(answer, Message), f'{type(answer).__name__} instead of a message')
    same('text', answer.text, 'hello there')
    same('role', answer.role, 'agent')
    expect(answer.id and answer.context and not answer.task, f'ids of a message without a task: {answer}')


async def kept_parts(peer: Peer, *parts: Part) -> None:
    """Sends parts, and checks that the server has them as they were sent."""
    task = a_task(await peer.send('echo with parts', *parts), 'completed')
    kept = (await peer.get(task.id)).history[0].parts[1:]
    if not peer.describes_files:
        parts = [Part(part.kind, part.value) for part in parts]
    same('parts kept', kept, list(parts))


@scenario
async def file_bytes(peer):
    await kept_parts(peer, Part('bytes', BYTES, 'all bytes.bin', 'application/octet-stream'))
    task = a_task(await peer.send('file report.bin 1000'), 'completed')
    [part] = [part for part in task.parts if part.kind == 'bytes']
    same('size', len(part.value), 1000)
    same('name', part.name, 'report.bin' if peer.describes_files else '')
    return part.media_type


@scenario
async def file_url(peer):
    await kept_parts(peer, Part('url', 'https://files.example/a%20b.bin', 'a b.bin', 'application/octet-stream'))
    task = a_task(await peer.send('url https://files.example/x?y=1&z=%20'), 'completed')
    [part] = [part for part in task.parts if part.kind == 'url']
    same('address', part.value, 'https://files.example/x?y=1&z=%20')


@scenario
async def data(peer):
    value = {'nested': {'list': [1, 2.5, -3, 'x', None, True], 'empty': {}, 'none': []}, 'ü': 'é'}
    await kept_parts(peer, Part('data', value))
    task = a_task(await peer.send(f'data {json.dumps(value)}'), 'completed')
    same('data', [part.value for part in task.parts if part.kind == 'data'], [value])


@scenario
async def failed(peer):
    same('reason', a_task(await peer.send('fail it broke'), 'failed').said, 'it broke')


@scenario
async def rejected(peer):
    same('reason', a_task(await peer.send('reject not for me'), 'rejected').said, 'not for me')


@scenario
async def input_required(peer):
    asked = a_task(await peer.send('ask which colour?'), 'input-required')
    same('question', asked.said, 'which colour?')
    same('state kept', (await peer.get(asked.id)).state, 'input-required')
    done = a_task(await peer.send('blue', task=asked.id, context=asked.context), 'completed')
    same('ids', (done.id, done.context), (asked.id, asked.context))
    again = a_task(await peer.send('ask which size?'), 'input-required')
    done = a_task(await peer.send('large', task=again.id), 'completed')
    same('context that was not repeated', done.context, again.context)


@scenario
async def auth_required(peer):
    asked = a_task(await peer.send('auth'), 'auth-required')
    done = a_task(await peer.send('here you are', task=asked.id, context=asked.context), 'completed')
    same('ids', (done.id, done.context), (asked.id, asked.context))


@scenario
async def stream(peer):
    events = await listened(peer.stream('echo hello'))
    task = coherent(events, 'completed')
    same('text', task.text, 'hello')
    await agrees(peer, task)
    return ', '.join(type(event).__name__ for event in events)


@scenario
async def stream_message(peer):
    [answer] = await listened(peer.stream('say hello there'))
    expect(isinstance(answer, Message), f'{type(answer).__name__} instead of a message')
    same('text', answer.text, 'hello there')


@scenario
async def stream_chunks(peer):
    events = await listened(peer.stream('chunks 6 20'))
    task = coherent(events, 'completed')
    chunks = [event for event in events if isinstance(event, Chunk)]
    same('appended', [chunk.append for chunk in chunks], [False] + [True] * 5)
    same('last', [chunk.last for chunk in chunks], [False] * 5 + [True])
    expect(task.text, 'chunks without text')
    await agrees(peer, task)


@scenario
async def stream_burst(peer):
    events = await listened(peer.stream('burst 500'))
    await agrees(peer, coherent(events, 'completed'))
    expect(len(events) > 500, f'{len(events)} events')


@scenario
async def stream_failed(peer):
    task = coherent(await listened(peer.stream('fail it broke')), 'failed')
    same('reason', task.said, 'it broke')


@scenario
async def stream_input_required(peer):
    asked = coherent(await listened(peer.stream('ask which colour?')), 'input-required')
    same('question', asked.said, 'which colour?')
    done = coherent(await listened(peer.stream('blue', task=asked.id, context=asked.context)), 'completed')
    same('ids', (done.id, done.context), (asked.id, asked.context))


@scenario
async def stream_left(peer):
    async with aclosing(peer.stream('chunks 4 100')) as events:
        first = await anext(events)
        expect(isinstance(first, Task), f'the first event is {type(first).__name__}, not the task')
    done = await ended(peer, first.id)
    same('state', done.state, 'completed')
    whole = coherent(await listened(peer.stream('chunks 4 1')), 'completed')
    same('text', done.text, whole.text)


@scenario
async def get(peer):
    asked = a_task(await peer.send('ask which colour?'), 'input-required')
    done = a_task(await peer.send('blue', task=asked.id), 'completed')
    whole = await peer.get(done.id)
    same('ids', (whole.id, whole.context, whole.state), (done.id, done.context, 'completed'))
    same('what was said', [m.text for m in whole.history if m.role == 'user'], ['ask which colour?', 'blue'])
    if peer.asks_for_history:
        same('history of one', (await peer.get(done.id, history=1)).history, whole.history[-1:])
    if peer.asks_for_no_history:
        same('history of none', (await peer.get(done.id, history=0)).history, [])


@scenario
async def list_tasks(peer):
    context = f'context-{uuid.uuid4()}'
    first = a_task(await peer.send('echo one', context=context), 'completed')
    second = a_task(await peer.send('fail two', context=context), 'failed')
    page = await peer.list(context_id=context)
    same('tasks, newest first', [task.id for task in page.tasks], [second.id, first.id])
    same('total and next', (page.total, page.next), (2, ''))
    same('artifacts', [task.artifacts for task in page.tasks], [[], []])
    page = await peer.list(context_id=context, status='completed', include_artifacts=True)
    same('completed tasks', [(task.id, task.text) for task in page.tasks], [(first.id, 'one')])
    same('tasks of nobody', (await peer.list(context_id='no-such-context')).tasks, [])


@scenario
async def list_pages(peer):
    context = f'context-{uuid.uuid4()}'
    made = [a_task(await peer.send(f'echo {n}', context=context), 'completed').id for n in range(3)]
    page = await peer.list(context_id=context, page_size=2)
    same('first page', (len(page.tasks), page.size, page.total), (2, 2, 3))
    expect(page.next, 'no token for the next page')
    rest = await peer.list(context_id=context, page_size=2, page_token=page.next)
    same('last page', (len(rest.tasks), rest.total, rest.next), (1, 3, ''))
    same('all tasks', sorted(task.id for task in page.tasks + rest.tasks), sorted(made))


@scenario
async def cancel(peer):
    task = await started(peer, 'wait 60000')
    canceled = a_task(await peer.cancel(task.id), 'canceled')
    same('ids', (canceled.id, canceled.context), (task.id, task.context))
    same('state kept', (await peer.get(task.id)).state, 'canceled')
    same('canceled again', (await peer.cancel(task.id)).state, 'canceled')


@scenario
async def cancel_waiting(peer):
    asked = a_task(await peer.send('ask which colour?'), 'input-required')
    a_task(await peer.cancel(asked.id), 'canceled')


@scenario
async def subscribe(peer):
    task = await started(peer, 'chunks 6 100')
    events = await listened(peer.subscribe(task.id))
    seen = coherent(events, 'completed')
    same('id', seen.id, task.id)
    expect(any(isinstance(event, Chunk) for event in events), 'no chunk was left to see')
    await agrees(peer, seen)


@scenario
async def subscribe_canceled(peer):
    task = await started(peer, 'wait 60000')
    events = []
    async for event in peer.subscribe(task.id):
        events.append(event)
        if len(events) == 1:
            await peer.cancel(task.id)
    coherent(events, 'canceled')


@scenario
async def subscribe_waiting(peer):
    asked = a_task(await peer.send('ask which colour?'), 'input-required')
    events = []
    async for event in peer.subscribe(asked.id):
        events.append(event)
        if len(events) == 1:
            same('state at first', event.state, 'input-required')
            a_task(await peer.send('blue', task=asked.id), 'completed')
    coherent(events, 'completed')


@scenario
async def unknown_get(peer):
    return await refused(peer, 'TaskNotFound', peer.get('no-such-task'))


@scenario
async def unknown_cancel(peer):
    return await refused(peer, 'TaskNotFound', peer.cancel('no-such-task'))


@scenario
async def unknown_subscribe(peer):
    return await refused(peer, 'TaskNotFound', peer.subscribe('no-such-task'))


@scenario
async def unknown_send(peer):
    return await refused(peer, 'TaskNotFound', peer.send('echo hello', task='no-such-task'))


@scenario
async def unknown_stream(peer):
    return await refused(peer, 'TaskNotFound', peer.stream('echo hello', task='no-such-task'))


@scenario
async def finished_send(peer):
    task = await finished(peer)
    return await refused(peer, 'UnsupportedOperation', peer.send('echo more', task=task.id, context=task.context))


@scenario
async def finished_stream(peer):
    task = await finished(peer)
    return await refused(peer, 'UnsupportedOperation', peer.stream('echo more', task=task.id, context=task.context))


@scenario
async def finished_cancel(peer):
    return await refused(peer, 'TaskNotCancelable', peer.cancel((await finished(peer)).id))


@scenario
async def finished_subscribe(peer):
    return await refused(peer, 'UnsupportedOperation', peer.subscribe((await finished(peer)).id))


@scenario
async def other_context(peer):
    asked = a_task(await peer.send('ask which colour?'), 'input-required')
    why = await refused(peer, 'InvalidParams', peer.send('blue', task=asked.id, context='another'))
    same('state kept', (await peer.get(asked.id)).state, 'input-required')
    return why


@scenario
async def no_parts(peer):
    return await refused(peer, 'InvalidParams', peer.send())


@scenario
async def negative_history(peer):
    task = await finished(peer)
    await refused(peer, 'InvalidParams', peer.send('echo hello', history=-1))
    return await refused(peer, 'InvalidParams', peer.get(task.id, history=-1))


@scenario
async def page_size(peer):
    for size in (0, 101, -1):
        await refused(peer, 'InvalidParams', peer.list(page_size=size))


@scenario
async def page_token(peer):
    return await refused(peer, 'InvalidParams', peer.list(page_token='garbled'))


@scenario
async def content_type(peer):
    part = Part('bytes', b'MZ', 'a.exe', 'application/x-msdownload')
    return await refused(peer, 'ContentTypeNotSupported', peer.of_little.send('hello', part))


@scenario
async def version(peer):
    return await refused(peer, 'VersionNotSupported', peer.send_as('9.9'))
