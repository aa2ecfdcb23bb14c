"""Streams from an agent that is silent for a while, with a client of a2a-sdk 1.x and its default timeouts.

Prints a JSON line with each event and the seconds until it arrived.
"""

import asyncio
import json
import sys
import time

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb

from client_1x import BINDINGS, to_sdk_message


async def main(base: str, binding: str) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, base).get_agent_card()
    interfaces = [each for each in card.supported_interfaces if each.protocol_version != '0.3']
    card.ClearField('supported_interfaces')
    card.supported_interfaces.extend(interfaces)
    client = ClientFactory(ClientConfig(
        streaming=True, grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[BINDINGS[binding]])).create(card)
    start = time.monotonic()
    request = pb.SendMessageRequest(message=to_sdk_message(['hello'], '', ''))
    async for event in client.send_message(request):
        state = event.task.status.state or event.status_update.status.state
        event = {'kind': event.WhichOneof('payload'), 'state': pb.TaskState.Name(state)}
        print(json.dumps({**event, 'seconds': time.monotonic() - start}), flush=True)


asyncio.run(main(*sys.argv[1:]))
