"""Runs every scenario, one for each operation of operations.json, and says how each went."""

import argparse
import asyncio
import json
from pathlib import Path

import scenarios  # noqa: F401, for what it registers
import webhooks  # noqa: F401
from checks import SCENARIOS, same

OPERATIONS = json.loads((Path(__file__).parent.parent / 'operations.json').read_text(encoding='utf-8'))
PATIENCE = 30


def report(operation: str, ok: bool | None, detail: str = '', note: str = '') -> None:
    print(json.dumps({'operation': operation, 'ok': ok, 'detail': detail, 'note': note}), flush=True)


async def run(connect, base: str, little: str, binding: str, compat: bool) -> None:
    names = [name for group in OPERATIONS.values() for name in group]
    same('operations', sorted(SCENARIOS), sorted(names))
    try:
        peer = await connect(base, binding, compat)
        peer.of_little = await connect(little, binding, compat)
    except Exception as error:
        report('card', False, f'{type(error).__name__}: {error}')
        return
    for name in names:
        if reason := peer.lacks.get(name):
            report(name, None, reason)
            continue
        try:
            async with asyncio.timeout(PATIENCE):
                detail = await SCENARIOS[name](peer)
            report(name, True, detail or '', peer.notes.get(name, ''))
        except Exception as error:
            report(name, False, f'{type(error).__name__}: {error}')


def main(connect) -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument('base', help='where the demo agent is, such as http://127.0.0.1:8080')
    arguments.add_argument('little', help='where an agent is that reads nothing but text, and has no webhooks')
    arguments.add_argument('binding', choices=['jsonrpc', 'rest', 'grpc'])
    arguments.add_argument('--compat', action='store_true', help='speak 0.3, by a client of 1.x')
    asyncio.run(run(connect, **vars(arguments.parse_args())))
