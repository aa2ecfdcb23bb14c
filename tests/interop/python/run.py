"""Runs the scenario of every operation in operations.json, and prints a JSON line with each result."""

import argparse
import asyncio
import json
from pathlib import Path

import scenarios  # noqa: F401, registers scenarios
import webhooks  # noqa: F401, registers scenarios
from checks import SCENARIOS, expect_equal

OPERATIONS = json.loads((Path(__file__).parent.parent / 'operations.json').read_text(encoding='utf-8'))
SCENARIO_TIMEOUT = 30  # seconds


def report(operation: str, ok: bool | None, detail: str = '', note: str = '') -> None:
    print(json.dumps({'operation': operation, 'ok': ok, 'detail': detail, 'note': note}), flush=True)


async def run(connect, base: str, minimal: str, binding: str, compat: bool) -> None:
    names = [name for group in OPERATIONS.values() for name in group]
    expect_equal('operations', sorted(SCENARIOS), sorted(names))
    try:
        peer = await connect(base, binding, compat)
        peer.minimal = await connect(minimal, binding, compat)
    except Exception as error:
        report('card', False, f'{type(error).__name__}: {error}')
        return
    for name in names:
        if reason := peer.unsupported.get(name):
            report(name, None, reason)
            continue
        try:
            async with asyncio.timeout(SCENARIO_TIMEOUT):
                detail = await SCENARIOS[name](peer)
            report(name, True, detail or '', peer.notes.get(name, ''))
        except Exception as error:
            report(name, False, f'{type(error).__name__}: {error}')


def main(connect) -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument('base', help='base URL of the demo agent, such as http://127.0.0.1:8080')
    arguments.add_argument('minimal', help='base URL of an agent that accepts only text and has no webhooks')
    arguments.add_argument('binding', choices=['jsonrpc', 'rest', 'grpc'])
    arguments.add_argument('--compat', action='store_true', help='use protocol version 0.3 with a client of 1.x')
    asyncio.run(run(connect, **vars(arguments.parse_args())))
