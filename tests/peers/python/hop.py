"""Recording hops between a peer's client and its server: HTTP, gRPC, and a sink for push deliveries."""

import asyncio
import base64
import contextlib
import importlib
import json
import re
import socket
from pathlib import Path

import grpc
import httpx
import uvicorn
from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

KEPT_HEADERS = {
    'accept', 'allow', 'authorization', 'cache-control', 'content-type', 'etag', 'if-none-match',
    'last-event-id', 'vary', 'www-authenticate',
}
KEPT_PREFIXES = ('a2a-', 'x-a2a-')
_running: list = []
PB_MODULES = {
    'lf.a2a.v1': ('a2a.types.a2a_pb2',),
    'a2a.v1': ('a2a.grpc.a2a_pb2', 'a2a.compat.v0_3.a2a_v0_3_pb2'),
}


class Recorder:
    """Names exchanges after the mark set by the driver and writes each one to its own file."""

    def __init__(self, root: Path, protocol: str, source: str, raw_source: str):
        self.root = root
        self.protocol = protocol
        self.sources = {'sdk': source, 'raw': raw_source}
        self.mark: dict | None = None
        self.ports: dict[int, int] = {}
        self.pending = 0
        self.written: list[Path] = []

    def begin(self) -> dict | None:
        self.pending += 1
        return self.mark

    def end(self, mark: dict | None, request: dict, response: dict) -> None:
        self.pending -= 1
        if mark is None:
            return
        case = ('error_' if is_error(response) else '') + mark['case'].removeprefix('error_')
        name = f'{mark["operation"]}-{case}'
        path = self.root / mark['binding'] / f'{name}.json'
        number = 1
        while path in self.written:
            number += 1
            path = self.root / mark['binding'] / f'{name}-{number}.json'
        self.written.append(path)
        if mark['binding'] != 'card':
            response.get('headers', {}).pop('etag', None)  # a hash of the body as it was, with this run's ports
        record = {
            'source': mark.get('source') or self.sources[mark.get('client', 'sdk')],
            'protocol': self.protocol,
            'binding': mark['binding'],
            'operation': mark['operation'],
            'case': path.stem[len(mark['operation']) + 1:],
            'request': request,
            'response': response,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + '\n', encoding='utf-8')

    def stable(self, data: bytes) -> bytes:
        """Puts fixed ports in place of the ones of this run. All have five digits, so lengths stay true."""
        for port, fixed in self.ports.items():
            data = re.sub(rb'(127\.0\.0\.1|localhost):%d\b' % port, rb'\1:%d' % fixed, data)
        return data


def is_error(response: dict) -> bool:
    """Tells failures apart, so that a case is named by what the peer did, not by what was expected of it."""
    bodies = [response.get('body'), *response.get('events', [])]
    failed = response.get('status', 200) >= 400 or response.get('code', 0) != 0 or 'aborted' in response
    return failed or any(isinstance(body, dict) and 'error' in body for body in bodies)


def free_socket() -> socket.socket:
    while True:
        sock = socket.socket()
        sock.bind(('127.0.0.1', 0))
        if sock.getsockname()[1] >= 10000:
            return sock
        sock.close()


class _Server(uvicorn.Server):
    """Leaves signals alone: the process ends as usual on SIGTERM."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield

    def install_signal_handlers(self):
        pass


async def serve_http(app, port: int = 0) -> int:
    """Serves at a port, or at any."""
    sock = socket.create_server(('127.0.0.1', port)) if port else free_socket()
    config = uvicorn.Config(app, log_level='critical', lifespan='off')
    task = asyncio.create_task(_Server(config).serve(sockets=[sock]))
    _running.append(task)
    return sock.getsockname()[1]


def kept(headers) -> dict[str, str]:
    return {
        name.lower(): value
        for name, value in headers
        if name.lower() in KEPT_HEADERS or name.lower().startswith(KEPT_PREFIXES)
    }


def body_members(data: bytes) -> dict:
    if not data:
        return {}
    try:
        return {'body': json.loads(data)}
    except ValueError:
        return {'body_text': data.decode('utf-8', 'replace')}


def stream_members(data: bytes) -> dict:
    text = data.decode('utf-8')
    events = []
    for block in re.split(r'\r?\n\r?\n', text):
        lines = [line[5:].removeprefix(' ') for line in re.split(r'\r?\n', block) if line.startswith('data:')]
        if lines:
            events.append(json.loads('\n'.join(lines)))
    return {'events': events, 'sse': text}


def target(request: Request) -> str:
    query = request.scope['query_string'].decode()
    path = request.scope['raw_path'].decode()
    return f'{path}?{query}' if query else path


async def http_hop(recorder: Recorder, upstream: int) -> int:
    client = httpx.AsyncClient(timeout=60)

    async def forward(request: Request) -> Response:
        mark = recorder.begin()
        body = await request.body()
        sent = {'method': request.method, 'path': recorder.stable(target(request).encode()).decode()}
        sent |= {'headers': kept(request.headers.items())} | body_members(recorder.stable(body))
        headers = [(n, v) for n, v in request.headers.raw if n not in (b'host', b'connection', b'accept-encoding')]
        onward = client.build_request(
            request.method, f'http://127.0.0.1:{upstream}{target(request)}', headers=headers, content=body)
        for name in ('accept', 'user-agent'):
            if name not in request.headers:
                onward.headers.pop(name, None)
        onward.headers['accept-encoding'] = 'identity'
        answer = await client.send(onward, stream=True)
        drop = ('transfer-encoding', 'connection', 'content-length')
        passed = {n: v for n, v in answer.headers.items() if n not in drop}
        got = {'status': answer.status_code, 'headers': kept(answer.headers.items())}
        if not answer.headers.get('content-type', '').startswith('text/event-stream'):
            # Read first: some clients leave at once when they see another type than they hoped for.
            data = await answer.aread()
            recorder.end(mark, sent, got | body_members(recorder.stable(data)))
            return Response(data, answer.status_code, headers=passed)

        async def chunks():
            data = b''
            try:
                async for chunk in answer.aiter_raw():
                    data += chunk
                    yield chunk
            except httpx.HTTPError:
                got['aborted'] = True  # the server dropped the connection before the end of the stream
                raise
            finally:
                recorder.end(mark, sent, got | stream_members(recorder.stable(data)))
                await answer.aclose()

        return StreamingResponse(chunks(), answer.status_code, headers=passed)

    verbs = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
    return await serve_http(Starlette(routes=[Route('/{path:path}', forward, methods=verbs)]))


async def hook_sink(recorder: Recorder, source: str) -> int:
    """Takes push deliveries; the last path segment of the hook's address names the case."""

    async def take(request: Request) -> Response:
        recorder.pending += 1
        mark = {'operation': 'push_delivery', 'case': target(request).rsplit('/', 1)[-1], 'binding': 'push'}
        sent = {'method': request.method, 'path': target(request), 'headers': kept(request.headers.items())}
        sent |= body_members(recorder.stable(await request.body()))
        recorder.end(mark | {'source': source}, sent, {'status': 200, 'headers': {}})
        return Response(status_code=200)

    async def ignore(request: Request) -> Response:
        return Response(status_code=200)

    routes = [Route('/hook/{name}', take, methods=['POST']), Route('/quiet/{name}', ignore, methods=['POST'])]
    return await serve_http(Starlette(routes=routes))


async def control(recorder: Recorder) -> int:
    async def mark(request: Request) -> Response:
        recorder.mark = json.loads(await request.body())
        return Response(status_code=204)

    return await serve_http(Starlette(routes=[Route('/mark', mark, methods=['POST'])]))


def pb_types(path: str):
    """Finds the request and response classes of a gRPC method in the SDK's own generated code."""
    service, method = path.strip('/').split('/')
    package = service.rsplit('.', 1)[0]
    for name in PB_MODULES[package]:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        found = module.DESCRIPTOR.services_by_name['A2AService'].methods_by_name.get(method)
        if found is None:
            return None, None
        from google.protobuf import message_factory
        make = message_factory.GetMessageClass
        return make(found.input_type), make(found.output_type)
    raise LookupError(f'no generated code for {package}')


def grpc_message(data: bytes, kind) -> dict:
    members = {'message': base64.b64encode(data).decode()}
    if kind is not None:
        members['json'] = json_format.MessageToDict(kind.FromString(data))
    return members


class _GrpcForwarder(grpc.GenericRpcHandler):
    """Passes any method on as bytes; one response or many look the same on the wire."""

    def __init__(self, recorder: Recorder, channel: grpc.aio.Channel):
        self.recorder = recorder
        self.channel = channel

    def service(self, details):
        async def forward(data: bytes, context: grpc.aio.ServicerContext):
            recorder = self.recorder
            mark = recorder.begin()
            into, out = pb_types(details.method)
            metadata = [
                (k, v) for k, v in context.invocation_metadata()
                if not k.startswith('grpc-') and k not in ('user-agent', 'te', 'content-type')
            ]
            sent = {'path': details.method, 'metadata': kept(metadata)}
            sent |= grpc_message(recorder.stable(data), into)
            got = {'code': 0, 'messages': []}
            call = self.channel.unary_stream(details.method)(data, metadata=metadata)
            try:
                initial = [(k, v) for k, v in await call.initial_metadata() if not k.startswith('grpc-')]
                if initial:
                    got |= {'metadata': kept(initial)} if kept(initial) else {}
                    await context.send_initial_metadata(initial)
                async for message in call:
                    got['messages'].append(grpc_message(recorder.stable(message), out))
                    yield message
                trailers = [(k, v) for k, v in await call.trailing_metadata() if not k.startswith('grpc-')]
                if kept(trailers):
                    got['trailers'] = kept(trailers)
                context.set_trailing_metadata(tuple(trailers))
            except grpc.aio.AioRpcError as error:
                got['code'] = error.code().value[0]
                trailers = [(k, v) for k, v in error.trailing_metadata() if k == 'grpc-status-details-bin']
                if trailers:
                    got['details'] = base64.b64encode(trailers[0][1]).decode()
                got['text'] = error.details()
                await context.abort(error.code(), error.details() or '', tuple(trailers))
            finally:
                call.cancel()
                recorder.end(mark, sent, got)

        return grpc.unary_stream_rpc_method_handler(forward)


async def grpc_hop(recorder: Recorder, upstream: int) -> int:
    channel = grpc.aio.insecure_channel(f'127.0.0.1:{upstream}')
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_GrpcForwarder(recorder, channel),))
    port = server.add_insecure_port('127.0.0.1:0')
    await server.start()
    _running.append(server)
    return port
