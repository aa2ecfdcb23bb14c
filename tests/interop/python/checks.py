"""Building blocks of the scenarios."""

import asyncio

from peer import Event, Message, Peer, Status, Task, fold_events

TERMINAL_STATES = {'completed', 'failed', 'canceled', 'rejected'}
SCENARIOS = {}


def scenario(function):
    """Registers a scenario under the name of its operation."""
    SCENARIOS[function.__name__] = function
    return function


def expect(condition: object, message: str) -> None:
    """Raises an error with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def expect_equal(subject: str, actual: object, expected: object) -> None:
    expect(actual == expected, f'{subject}: expected {str(expected)[:300]!r}, got {str(actual)[:300]!r}')


def expect_task(reply: Task | Message, state: str) -> Task:
    """Checks that a reply is a task in the given state, and returns it."""
    expect(isinstance(reply, Task), f'expected a task, got {type(reply).__name__}')
    expect(reply.id and reply.context, 'the task has no id or context')
    expect_equal('state', reply.state, state)
    return reply


async def expect_error(peer: Peer, kind: str, call) -> str:
    """Awaits a call or reads a stream that must fail with an error of the given kind. Returns the error text."""
    try:
        reply = [event async for event in call] if hasattr(call, '__aiter__') else await call
    except Exception as error:
        kinds = peer.error_kinds(error)
        if kind not in kinds:
            raise AssertionError(f'expected {kind}, got {sorted(kinds)}: {error!r}') from error
        return f'{type(error).__name__}: {error}'[:200]
    raise AssertionError(f'expected {kind}, got a reply: {reply!r}'[:300])


async def wait_until_terminal(peer: Peer, task: str) -> Task:
    """Polls a task until it is terminal."""
    while (current := await peer.get(task)).state not in TERMINAL_STATES:
        await asyncio.sleep(0.05)
    return current


async def finished_task(peer: Peer) -> Task:
    """Creates a completed task."""
    return expect_task(await peer.send('echo over'), 'completed')


async def start_task(peer: Peer, text: str) -> Task:
    """Starts a task, and returns while it is running."""
    task = await peer.send(text, wait=False)
    expect(isinstance(task, Task) and task.state not in TERMINAL_STATES, f'expected a running task, got {task}')
    return task


async def collect(events) -> list[Event]:
    """Reads a stream to its end."""
    return [event async for event in events]


def check_stream(events: list[Event], last: str) -> Task:
    """Checks that a stream begins with a snapshot, belongs to one task and ends in the given state.

    Returns the task that its events describe.
    """
    expect(events, 'no events')
    task = events[0]
    expect(isinstance(task, Task), f'the first event is a {type(task).__name__}, not a task')
    for event in events[1:]:
        expect_equal('task of an event', event.task, task.id)
        expect_equal('context of an event', event.context, task.context)
    finals = [event.final for event in events if isinstance(event, Status)]
    if any(final is not None for final in finals):
        expect_equal('final flags', finals, [False] * (len(finals) - 1) + [True])
    states = [task.state] + [event.state for event in events if isinstance(event, Status)]
    expect_equal('last state', states[-1], last)
    expect(not TERMINAL_STATES.intersection(states[:-1]), f'events after a terminal state: {states}')
    expect(isinstance(events[-1], Status) or len(events) == 1, f'the last event is {events[-1]}')
    return fold_events(events)


async def check_stored(peer: Peer, task: Task) -> Task:
    """Checks that the stored task equals the task that was streamed."""
    stored = await peer.get(task.id)
    expect_equal('stored state', stored.state, task.state)
    expect_equal('stored text', stored.text, task.text)
    expect_equal('stored artifacts', [each.id for each in stored.artifacts], [each.id for each in task.artifacts])
    return stored
