"""Tells the recording proxies the case of the next exchange, and sends plain requests no SDK client would send."""

import json
import os
import sys

import httpx

PORTS = json.loads(os.environ['PEER_PORTS'])
_control = httpx.Client()


def mark(binding=None, operation=None, case=None, client='sdk') -> None:
    """Sets the case of the following exchanges; without arguments they are not recorded."""
    value = {'binding': binding, 'operation': operation, 'case': case, 'client': client} if binding else None
    _control.post(f'http://127.0.0.1:{PORTS["control"]}/mark', content=json.dumps(value)).raise_for_status()


def hook(name: str, cases: 'Cases') -> str:
    """Returns a webhook URL. Deliveries are the same in every binding, so only those of one are recorded."""
    kind = 'hook' if cases.main else 'quiet'
    return f'http://127.0.0.1:{PORTS["hook"]}/{kind}/{name}'


class Cases:
    """Runs the cases of one binding, and prints unexpected errors of the client to stderr."""

    def __init__(self, binding: str):
        self.binding = binding
        self.main = binding == 'jsonrpc'  # other bindings skip cases that do not differ

    async def __call__(self, operation: str, case: str, call, error: bool = False):
        """Records one call: an awaitable, or an async iterator that is read to its end."""
        mark(self.binding, operation, case)
        failure = result = None
        try:
            result = [item async for item in call] if hasattr(call, '__aiter__') else await call
        except Exception as caught:  # only the exchange matters
            failure = caught
        mark()
        if failure and not error:
            print(f'{self.binding} {operation}-{case}: {type(failure).__name__}: {failure}'[:250], file=sys.stderr)
        return result

    async def unrecorded(self, call):
        """Runs one call without recording it."""
        mark()
        return [item async for item in call] if hasattr(call, '__aiter__') else await call

    def raw(self, operation: str, case: str, method: str, path: str, headers=None, server='http', **body) -> None:
        mark(self.binding, operation, case, client='raw')
        headers = {'content-type': 'application/json'} | (headers or {})
        if method == 'GET':
            headers.pop('content-type')
        with httpx.Client(timeout=20) as client:
            client.request(method, f'http://127.0.0.1:{PORTS[server]}{path}', headers=headers, **body)
        mark()

    def rpc(self, operation: str, case: str, body, headers=None, server='http') -> None:
        self.raw(operation, case, 'POST', '/', headers, server,
                 content=body if isinstance(body, str) else json.dumps(body))
