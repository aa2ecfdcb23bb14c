"""What scenarios are made of."""

import asyncio

from peer import Event, Message, Peer, Status, Task, folded

OVER = {'completed', 'failed', 'canceled', 'rejected'}
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def expect(condition: object, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


def same(what: str, got: object, want: object) -> None:
    expect(got == want, f'{what}: {str(got)[:300]!r} instead of {str(want)[:300]!r}')


def a_task(answer: Task | Message, state: str) -> Task:
    expect(isinstance(answer, Task), f'{type(answer).__name__} instead of a task')
    expect(answer.id and answer.context, 'a task without id or context')
    same('state', answer.state, state)
    return answer


async def refused(peer: Peer, meaning: str, call) -> str:
    """Awaits a call, or reads a stream, that the server must refuse."""
    try:
        answer = [event async for event in call] if hasattr(call, '__aiter__') else await call
    except Exception as error:
        meanings = peer.meanings(error)
        if meaning not in meanings:
            raise AssertionError(f'{meaning} expected, got {sorted(meanings)}: {error!r}') from error
        return f'{type(error).__name__}: {error}'[:200]
    raise AssertionError(f'{meaning} expected, got an answer: {answer!r}'[:300])


async def ended(peer: Peer, task: str) -> Task:
    while (now := await peer.get(task)).state not in OVER:
        await asyncio.sleep(0.05)
    return now


async def finished(peer: Peer) -> Task:
    return a_task(await peer.send('echo over'), 'completed')


async def started(peer: Peer, text: str) -> Task:
    task = await peer.send(text, wait=False)
    expect(isinstance(task, Task) and task.state not in OVER, f'{task} instead of a task that runs')
    return task


async def listened(events) -> list[Event]:
    return [event async for event in events]


def coherent(events: list[Event], last: str) -> Task:
    """Checks that a stream is one task's, from its snapshot to `last`, and puts it together."""
    expect(events, 'no events')
    task = events[0]
    expect(isinstance(task, Task), f'the first event is {type(task).__name__}, not the task')
    for event in events[1:]:
        same('task of an event', event.task, task.id)
        same('context of an event', event.context, task.context)
    marks = [event.final for event in events if isinstance(event, Status)]
    if any(mark is not None for mark in marks):
        same('final marks', marks, [False] * (len(marks) - 1) + [True])
    states = [task.state] + [event.state for event in events if isinstance(event, Status)]
    same('last state', states[-1], last)
    expect(not OVER.intersection(states[:-1]), f'events after the end: {states}')
    expect(isinstance(events[-1], Status) or len(events) == 1, f'the last event is {events[-1]}')
    return folded(events)


async def agrees(peer: Peer, task: Task) -> Task:
    """Checks that what a stream said is what the server keeps."""
    kept = await peer.get(task.id)
    same('state kept', kept.state, task.state)
    same('text kept', kept.text, task.text)
    same('artifacts kept', [artifact.id for artifact in kept.artifacts], [artifact.id for artifact in task.artifacts])
    return kept
