"""The instructions of the `latimer demo-server` agent, for agents on any SDK.

A step is ('state', name, status text), ('part', 1.0 part, append, last) or ('pause', seconds).
"""

import asyncio
import base64
import json


class Demo:
    """Runs the steps of an instruction. Subclasses convert states and parts to types of the SDK."""

    def reply(self, instruction):
        return reply(instruction)

    async def run_instruction(self, instruction, context, updater, message):
        for step in steps(instruction):
            match step:
                case 'state', state, status_text:
                    await self.set_state(updater, state, status_text)
                case 'part', part, append, last:
                    await updater.add_artifact([self.part(part)], artifact_id='a1', append=append, last_chunk=last)
                case 'pause', seconds:
                    await asyncio.sleep(seconds)


def reply(instruction: str) -> str | None:
    """Returns the direct reply that an instruction requests, if any."""
    name, _, argument = instruction.partition(' ')
    return argument if name == 'say' else None


def steps(instruction: str):
    """Yields the steps of an instruction."""
    name, _, argument = instruction.partition(' ')
    if final_state := {'reject': 'rejected', 'ask': 'input_required', 'auth': 'auth_required'}.get(name):
        yield 'state', final_state, argument or 'log in first'
        return
    yield 'state', 'working', None
    if name == 'fail':
        yield 'state', 'failed', argument
        return
    if name == 'wait':
        yield 'pause', int(argument) / 1000
    elif name == 'burst':
        for number in range(int(argument)):
            yield 'state', 'working', f'{number + 1} of {argument}'
    elif name == 'chunks':
        count, pause = map(int, argument.split())
        for number in range(count):
            yield 'part', {'text': f'chunk {number + 1} of {count}\n'}, number > 0, number == count - 1
            yield 'pause', pause / 1000
    else:
        yield 'part', build_part(name, argument, instruction), False, True
    yield 'state', 'completed', None


def build_part(name: str, argument: str, instruction: str) -> dict:
    """Returns the part that an instruction requests. An unknown instruction is echoed."""
    match name:
        case 'file':
            name, size = argument.split()
            raw = base64.b64encode(b'x' * int(size)).decode()
            return {'raw': raw, 'filename': name, 'mediaType': 'application/octet-stream'}
        case 'url':
            return {'url': argument, 'mediaType': 'text/plain'}
        case 'data':
            return {'data': json.loads(argument)}
        case 'echo':
            return {'text': argument}
        case _:
            return {'text': instruction}


def to_v0_3(part: dict) -> dict:
    """Converts a part to 0.3."""
    if 'text' in part or 'data' in part:
        return part | {'kind': next(iter(part))}
    names = {'raw': 'bytes', 'url': 'uri', 'filename': 'name', 'mediaType': 'mimeType'}
    return {'kind': 'file', 'file': {names[key]: value for key, value in part.items()}}
