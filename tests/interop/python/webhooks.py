"""What a client asks about webhooks, and what these are sent."""

import asyncio
import uuid
from dataclasses import replace
from itertools import pairwise

from checks import OVER, a_task, agrees, coherent, expect, finished, listened, refused, same, scenario
from peer import Delivery, Event, Peer, Task, Webhook, folded
from receiver import receiver

NOWHERE = 'http://127.0.0.1:9/hook?of=nobody'
PIECES = 4


def webhook(url: str = NOWHERE, id: str = 'hook') -> Webhook:
    return Webhook(id, url, f'token-{uuid.uuid4()}', 'Basic', 'dXNlcjpwYXNzd29yZA==')


async def heard(peer: Peer, hook: Webhook, deliveries: asyncio.Queue[Delivery]) -> list[Event]:
    """All that a webhook is sent, to the end of its task."""
    credentials = f'{hook.scheme} {hook.credentials}' if hook.scheme else f'Bearer {hook.token}'
    events = []
    while not events or getattr(events[-1], 'state', '') not in OVER:
        delivery = await deliveries.get()
        same('token', delivery.headers['X-A2A-Notification-Token'], hook.token)
        same('credentials', delivery.headers['Authorization'], credentials)
        events.append(peer.heard(delivery))
    return events


def in_between(events: list[Event]) -> list[Task]:
    """The task as it is after each of its events."""
    return [folded(events[:end]) for end in range(1, len(events) + 1)]


@scenario
async def push_create(peer):
    task, hook = await finished(peer), webhook()
    same('webhook', await peer.create_webhook(task.id, hook), hook)
    bare = Webhook('bare', NOWHERE, '')
    same('webhook with no more than an address', await peer.create_webhook(task.id, bare), bare)
    await refused(peer, 'InvalidParams', peer.create_webhook(task.id, webhook('ftp://127.0.0.1/hook')))
    return await refused(peer, 'TaskNotFound', peer.create_webhook('no-such-task', hook))


@scenario
async def push_get(peer):
    task = await finished(peer)
    why = await refused(peer, 'TaskNotFound', peer.get_webhook(task.id, 'one'))
    for each in (webhook(id='one'), webhook(id='two')):
        await peer.create_webhook(task.id, each)
        same('webhook', await peer.get_webhook(task.id, each.id), each)
    await refused(peer, 'TaskNotFound', peer.get_webhook(task.id, 'three'))
    return why


@scenario
async def push_list(peer):
    task = await finished(peer)
    same('webhooks at first', await peer.list_webhooks(task.id), [])
    one, two, other = webhook(id='one'), webhook(id='two'), webhook(id='one')
    for each in (one, two):
        await peer.create_webhook(task.id, each)
    same('webhooks', await peer.list_webhooks(task.id), [one, two])
    await peer.create_webhook(task.id, other)
    same('webhooks in the end', await peer.list_webhooks(task.id), [other, two])
    return await refused(peer, 'TaskNotFound', peer.list_webhooks('no-such-task'))


@scenario
async def push_delete(peer):
    task = await finished(peer)
    one, two = webhook(id='one'), webhook(id='two')
    for each in (one, two):
        await peer.create_webhook(task.id, each)
    for _ in range(2):
        await peer.delete_webhook(task.id, 'one')
        same('webhooks left', await peer.list_webhooks(task.id), [two])
        await refused(peer, 'TaskNotFound', peer.get_webhook(task.id, 'one'))
    return await refused(peer, 'TaskNotFound', peer.delete_webhook('no-such-task', 'one'))


@scenario
async def push_send(peer):
    async with receiver() as (url, deliveries):
        hook = webhook(url)
        task = a_task(await peer.send(f'chunks {PIECES} 20', push=hook), 'completed')
        events = await heard(peer, hook, deliveries)
    if not peer.hears_of_tasks:
        coherent(events, 'completed')
    tasks = events if peer.hears_of_tasks else in_between(events)
    same('ids', {(each.id, each.context) for each in tasks}, {(task.id, task.context)})
    texts = [each.text for each in tasks]
    expect(all(after.startswith(before) for before, after in pairwise(texts)), f'out of order: {texts}')
    same('texts that differ', len(set(texts)), 1 + PIECES)
    await agrees(peer, tasks[-1])
    return ', '.join(type(event).__name__ for event in events)


@scenario
async def push_stream(peer):
    async with receiver() as (url, deliveries):
        hook = webhook(url)
        events = await listened(peer.stream(f'chunks {PIECES} 20', push=hook))
        heard_of = await heard(peer, hook, deliveries)
    coherent(events, 'completed')
    if peer.hears_of_tasks:
        same('tasks', [replace(task, history=[]) for task in heard_of], in_between(events))
    else:
        same('events', heard_of, events)


@scenario
async def push_later(peer):
    asked = a_task(await peer.send('ask which colour?'), 'input-required')
    async with receiver() as (url, deliveries):
        hook = replace(webhook(url), scheme='', credentials='')
        await peer.create_webhook(asked.id, hook)
        a_task(await peer.send('blue', task=asked.id, context=asked.context), 'completed')
        events = await heard(peer, hook, deliveries)
    states = [event.state for event in events if hasattr(event, 'state')]
    expect('input-required' not in states, f'what came before: {states}')
    same('last state', states[-1], 'completed')
    return ', '.join(states)


async def without(peer: Peer, call) -> str:
    """What an agent without webhooks says to a call about those of a task."""
    task = await finished(peer.of_little)
    return await refused(peer, 'PushNotificationNotSupported', call(task.id))


@scenario
async def no_push_create(peer):
    expect(not peer.of_little.card.push, 'the card says that the agent has webhooks')
    return await without(peer, lambda task: peer.of_little.create_webhook(task, webhook()))


@scenario
async def no_push_get(peer):
    return await without(peer, lambda task: peer.of_little.get_webhook(task, 'hook'))


@scenario
async def no_push_list(peer):
    return await without(peer, peer.of_little.list_webhooks)


@scenario
async def no_push_delete(peer):
    return await without(peer, lambda task: peer.of_little.delete_webhook(task, 'hook'))


@scenario
async def no_push_send(peer):
    return await refused(
        peer, 'PushNotificationNotSupported', peer.of_little.send('echo hello', push=webhook()))
