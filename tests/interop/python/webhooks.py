"""Scenarios of webhooks: registration and delivery."""

import asyncio
import uuid
from dataclasses import replace
from itertools import pairwise

from checks import (
    TERMINAL_STATES, check_stored, check_stream, collect, expect, expect_equal, expect_error, expect_task,
    finished_task, scenario)
from peer import Delivery, Event, Peer, Task, Webhook, fold_events
from receiver import receiver

UNREACHABLE_URL = 'http://127.0.0.1:9/hook?id=none'
CHUNKS = 4


def webhook(url: str = UNREACHABLE_URL, id: str = 'hook') -> Webhook:
    return Webhook(id, url, f'token-{uuid.uuid4()}', 'Basic', 'dXNlcjpwYXNzd29yZA==')


async def receive_events(peer: Peer, hook: Webhook, deliveries: asyncio.Queue[Delivery]) -> list[Event]:
    """Receives the deliveries to a webhook until its task is terminal."""
    credentials = f'{hook.scheme} {hook.credentials}' if hook.scheme else f'Bearer {hook.token}'
    events = []
    while not events or getattr(events[-1], 'state', '') not in TERMINAL_STATES:
        delivery = await deliveries.get()
        expect_equal('token', delivery.headers['X-A2A-Notification-Token'], hook.token)
        expect_equal('credentials', delivery.headers['Authorization'], credentials)
        events.append(peer.parse_delivery(delivery))
    return events


def task_after_each_event(events: list[Event]) -> list[Task]:
    """Returns the task after each of its events."""
    return [fold_events(events[:end]) for end in range(1, len(events) + 1)]


@scenario
async def push_create(peer):
    task, hook = await finished_task(peer), webhook()
    expect_equal('webhook', await peer.create_webhook(task.id, hook), hook)
    bare = Webhook('bare', UNREACHABLE_URL, '')
    expect_equal('webhook with only a URL', await peer.create_webhook(task.id, bare), bare)
    await expect_error(peer, 'InvalidParams', peer.create_webhook(task.id, webhook('ftp://127.0.0.1/hook')))
    return await expect_error(peer, 'TaskNotFound', peer.create_webhook('no-such-task', hook))


@scenario
async def push_get(peer):
    task = await finished_task(peer)
    message = await expect_error(peer, 'TaskNotFound', peer.get_webhook(task.id, 'one'))
    for each in (webhook(id='one'), webhook(id='two')):
        await peer.create_webhook(task.id, each)
        expect_equal('webhook', await peer.get_webhook(task.id, each.id), each)
    await expect_error(peer, 'TaskNotFound', peer.get_webhook(task.id, 'three'))
    return message


@scenario
async def push_list(peer):
    task = await finished_task(peer)
    expect_equal('initial webhooks', await peer.list_webhooks(task.id), [])
    one, two, other = webhook(id='one'), webhook(id='two'), webhook(id='one')
    for each in (one, two):
        await peer.create_webhook(task.id, each)
    expect_equal('webhooks', await peer.list_webhooks(task.id), [one, two])
    await peer.create_webhook(task.id, other)
    expect_equal('webhooks after a replacement', await peer.list_webhooks(task.id), [other, two])
    return await expect_error(peer, 'TaskNotFound', peer.list_webhooks('no-such-task'))


@scenario
async def push_delete(peer):
    task = await finished_task(peer)
    one, two = webhook(id='one'), webhook(id='two')
    for each in (one, two):
        await peer.create_webhook(task.id, each)
    for _ in range(2):
        await peer.delete_webhook(task.id, 'one')
        expect_equal('remaining webhooks', await peer.list_webhooks(task.id), [two])
        await expect_error(peer, 'TaskNotFound', peer.get_webhook(task.id, 'one'))
    return await expect_error(peer, 'TaskNotFound', peer.delete_webhook('no-such-task', 'one'))


@scenario
async def push_send(peer):
    async with receiver() as (url, deliveries):
        hook = webhook(url)
        task = expect_task(await peer.send(f'chunks {CHUNKS} 20', push=hook), 'completed')
        events = await receive_events(peer, hook, deliveries)
    if not peer.webhooks_send_tasks:
        check_stream(events, 'completed')
    tasks = events if peer.webhooks_send_tasks else task_after_each_event(events)
    expect_equal('ids', {(each.id, each.context) for each in tasks}, {(task.id, task.context)})
    texts = [each.text for each in tasks]
    expect(all(after.startswith(before) for before, after in pairwise(texts)), f'texts out of order: {texts}')
    expect_equal('number of distinct texts', len(set(texts)), 1 + CHUNKS)
    await check_stored(peer, tasks[-1])
    return ', '.join(type(event).__name__ for event in events)


@scenario
async def push_stream(peer):
    async with receiver() as (url, deliveries):
        hook = webhook(url)
        events = await collect(peer.stream(f'chunks {CHUNKS} 20', push=hook))
        received = await receive_events(peer, hook, deliveries)
    check_stream(events, 'completed')
    if peer.webhooks_send_tasks:
        expect_equal('tasks', [replace(task, history=[]) for task in received], task_after_each_event(events))
    else:
        expect_equal('events', received, events)


@scenario
async def push_later(peer):
    waiting = expect_task(await peer.send('ask which colour?'), 'input-required')
    async with receiver() as (url, deliveries):
        hook = replace(webhook(url), scheme='', credentials='')
        await peer.create_webhook(waiting.id, hook)
        expect_task(await peer.send('blue', task=waiting.id, context=waiting.context), 'completed')
        events = await receive_events(peer, hook, deliveries)
    states = [event.state for event in events if hasattr(event, 'state')]
    expect('input-required' not in states, f'events before the registration were delivered: {states}')
    expect_equal('last state', states[-1], 'completed')
    return ', '.join(states)


async def expect_no_webhooks(peer: Peer, call) -> str:
    """Checks that an agent without webhooks rejects a call about the webhooks of a task."""
    task = await finished_task(peer.minimal)
    return await expect_error(peer, 'PushNotificationNotSupported', call(task.id))


@scenario
async def no_push_create(peer):
    expect(not peer.minimal.card.push, 'the card declares push notifications')
    return await expect_no_webhooks(peer, lambda task: peer.minimal.create_webhook(task, webhook()))


@scenario
async def no_push_get(peer):
    return await expect_no_webhooks(peer, lambda task: peer.minimal.get_webhook(task, 'hook'))


@scenario
async def no_push_list(peer):
    return await expect_no_webhooks(peer, peer.minimal.list_webhooks)


@scenario
async def no_push_delete(peer):
    return await expect_no_webhooks(peer, lambda task: peer.minimal.delete_webhook(task, 'hook'))


@scenario
async def no_push_send(peer):
    return await expect_error(
        peer, 'PushNotificationNotSupported', peer.minimal.send('echo hello', push=webhook()))
