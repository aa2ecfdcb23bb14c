"""What the agent of `latimer demo-server` does about a message, for agents on any SDK.

A step is ('state', its name, what is said with it), ('piece', a part as 1.0 has it, append, last) or ('pause', seconds).
"""

import asyncio
import base64
import json


class Demo:
    """Follows the steps; how a state is entered and a piece is told is the SDK's."""

    def reply(self, said):
        return reply(said)

    async def follow(self, said, context, updater, message):
        for step in steps(said):
            match step:
                case 'state', state, words:
                    await self.enter(updater, state, words)
                case 'piece', part, append, last:
                    await updater.add_artifact([self.part(part)], artifact_id='a1', append=append, last_chunk=last)
                case 'pause', seconds:
                    await asyncio.sleep(seconds)


def reply(said: str) -> str | None:
    """What is answered without a task, if that is wanted."""
    word, _, rest = said.partition(' ')
    return rest if word == 'say' else None


def steps(said: str):
    word, _, rest = said.partition(' ')
    if last := {'reject': 'rejected', 'ask': 'input_required', 'auth': 'auth_required'}.get(word):
        yield 'state', last, rest or 'log in first'
        return
    yield 'state', 'working', None
    if word == 'fail':
        yield 'state', 'failed', rest
        return
    if word == 'wait':
        yield 'pause', int(rest) / 1000
    elif word == 'burst':
        for number in range(int(rest)):
            yield 'state', 'working', f'{number + 1} of {rest}'
    elif word == 'chunks':
        count, pause = map(int, rest.split())
        for number in range(count):
            yield 'piece', {'text': f'chunk {number + 1} of {count}\n'}, number > 0, number == count - 1
            yield 'pause', pause / 1000
    else:
        yield 'piece', made(word, rest, said), False, True
    yield 'state', 'completed', None


def made(word: str, rest: str, said: str) -> dict:
    """The one part that a message asks for. What is no word is said again."""
    match word:
        case 'file':
            name, size = rest.split()
            raw = base64.b64encode(b'x' * int(size)).decode()
            return {'raw': raw, 'filename': name, 'mediaType': 'application/octet-stream'}
        case 'url':
            return {'url': rest, 'mediaType': 'text/plain'}
        case 'data':
            return {'data': json.loads(rest)}
        case 'echo':
            return {'text': rest}
        case _:
            return {'text': said}


def older(part: dict) -> dict:
    """A part as 0.3 has it."""
    if 'text' in part or 'data' in part:
        return part | {'kind': next(iter(part))}
    names = {'raw': 'bytes', 'url': 'uri', 'filename': 'name', 'mediaType': 'mimeType'}
    return {'kind': 'file', 'file': {names[key]: value for key, value in part.items()}}
