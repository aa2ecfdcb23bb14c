"""Recording proxies between a peer's client and its server for HTTP and gRPC, and a sink for push deliveries."""

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

RECORDED_HEADERS = {
    'accept', 'allow', 'authorization', 'cache-control', 'content-type', 'etag', 'if-none-match',
    'last-event-id', 'vary', 'www-authenticate',
}
RECORDED_PREFIXES = ('a2a-', 'x-a2a-')
_running: list = []
PB_MODULES = {
    'lf.a2a.v1': ('a2a.types.a2a_pb2',),
    'a2a.v1': ('a2a.grpc.a2a_pb2', 'a2a.compat.v0_3.a2a_v0_3_pb2'),
}


class Recorder:
    """Writes each exchange to a file named after the case that the driver has set."""

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
            response.get('headers', {}).pop('etag', None)  # depends on the ports of this run
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

    def with_fixed_ports(self, data: bytes) -> bytes:
        """Replaces the ports of this run by fixed ones. All have five digits, so lengths do not change."""
        for port, recorded_port in self.ports.items():
            data = re.sub(rb'(127\.0\.0\.1|localhost):%d\b' % port, rb'\1:%d' % recorded_port, data)
        return data


def is_error(response: dict) -> bool:
    """Returns whether the peer failed, so that a case is named by its result and not by the expectation."""
    bodies = [response.get('body'), *response.get('events', [])]
    failed = response.get('status', 200) >= 400 or response.get('code', 0) != 0 or 'aborted' in response
    return failed or any(isinstance(body, dict) and 'error' in body for body in bodies)


def free_socket() -> socket.socket:
    """Returns a socket bound to a free port with five digits."""
    while True:
        sock = socket.socket()
        sock.bind(('127.0.0.1', 0))
        if sock.getsockname()[1] >= 10000:
            return sock
        sock.close()


class _Server(uvicorn.Server):
    """Installs no signal handlers, so that SIGTERM ends the process."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield

    def install_signal_handlers(self):
        pass


async def serve_http(app, port: int = 0) -> int:
    """Serves an app on a port, or on a free one for 0. Returns the port."""
    sock = socket.create_server(('127.0.0.1', port)) if port else free_socket()
    config = uvicorn.Config(app, log_level='critical', lifespan='off')
    task = asyncio.create_task(_Server(config).serve(sockets=[sock]))
    _running.append(task)
    return sock.getsockname()[1]


def recorded_headers(headers) -> dict[str, str]:
    return {
        name.lower(): value
        for name, value in headers
        if name.lower() in RECORDED_HEADERS or name.lower().startswith(RECORDED_PREFIXES)
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


def request_target(request: Request) -> str:
    query = request.scope['query_string'].decode()
    path = request.scope['raw_path'].decode()
    return f'{path}?{query}' if query else path


async def start_http_proxy(recorder: Recorder, upstream: int) -> int:
    client = httpx.AsyncClient(timeout=60)

    async def forward(request: Request) -> Response:
        mark = recorder.begin()
        body = await request.body()
        path = recorder.with_fixed_ports(request_target(request).encode()).decode()
        request_record = {'method': request.method, 'path': path}
        request_record |= {'headers': recorded_headers(request.headers.items())}
        request_record |= body_members(recorder.with_fixed_ports(body))
        headers = [(n, v) for n, v in request.headers.raw if n not in (b'host', b'connection', b'accept-encoding')]
        upstream_request = client.build_request(
            request.method, f'http://127.0.0.1:{upstream}{request_target(request)}', headers=headers, content=body)
        for name in ('accept', 'user-agent'):
            if name not in request.headers:
                upstream_request.headers.pop(name, None)
        upstream_request.headers['accept-encoding'] = 'identity'
        response = await client.send(upstream_request, stream=True)
        dropped = ('transfer-encoding', 'connection', 'content-length')
        forwarded_headers = {n: v for n, v in response.headers.items() if n not in dropped}
        response_record = {'status': response.status_code, 'headers': recorded_headers(response.headers.items())}
        if not response.headers.get('content-type', '').startswith('text/event-stream'):
            # Read first: some clients disconnect at once when they see an unexpected content type.
            data = await response.aread()
            recorder.end(mark, request_record, response_record | body_members(recorder.with_fixed_ports(data)))
            return Response(data, response.status_code, headers=forwarded_headers)

        async def chunks():
            data = b''
            try:
                async for chunk in response.aiter_raw():
                    data += chunk
                    yield chunk
            except httpx.HTTPError:
                response_record['aborted'] = True  # the server closed the connection before the end of the stream
                raise
            finally:
                recorder.end(mark, request_record, response_record | stream_members(recorder.with_fixed_ports(data)))
                await response.aclose()

        return StreamingResponse(chunks(), response.status_code, headers=forwarded_headers)

    methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
    return await serve_http(Starlette(routes=[Route('/{path:path}', forward, methods=methods)]))


async def start_webhook_sink(recorder: Recorder, source: str) -> int:
    """Records push deliveries. The last path segment of the webhook URL is the case."""

    async def receive(request: Request) -> Response:
        recorder.pending += 1
        mark = {'operation': 'push_delivery', 'case': request_target(request).rsplit('/', 1)[-1], 'binding': 'push'}
        headers = recorded_headers(request.headers.items())
        request_record = {'method': request.method, 'path': request_target(request), 'headers': headers}
        request_record |= body_members(recorder.with_fixed_ports(await request.body()))
        recorder.end(mark | {'source': source}, request_record, {'status': 200, 'headers': {}})
        return Response(status_code=200)

    async def ignore(request: Request) -> Response:
        return Response(status_code=200)

    routes = [Route('/hook/{name}', receive, methods=['POST']), Route('/quiet/{name}', ignore, methods=['POST'])]
    return await serve_http(Starlette(routes=routes))


async def start_control(recorder: Recorder) -> int:
    """Serves the endpoint at which the driver sets the current case."""
    async def mark(request: Request) -> Response:
        recorder.mark = json.loads(await request.body())
        return Response(status_code=204)

    return await serve_http(Starlette(routes=[Route('/mark', mark, methods=['POST'])]))


def message_types(path: str):
    """Finds the request and response classes of a gRPC method in the SDK's own generated code."""
    service, method = path.strip('/').split('/')
    package = service.rsplit('.', 1)[0]
    for name in PB_MODULES[package]:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        descriptor = module.DESCRIPTOR.services_by_name['A2AService'].methods_by_name.get(method)
        if descriptor is None:
            return None, None
        from google.protobuf import message_factory
        message_class = message_factory.GetMessageClass
        return message_class(descriptor.input_type), message_class(descriptor.output_type)
    raise LookupError(f'no generated code for {package}')


def grpc_message(data: bytes, kind) -> dict:
    members = {'message': base64.b64encode(data).decode()}
    if kind is not None:
        members['json'] = json_format.MessageToDict(kind.FromString(data))
    return members


class _GrpcForwarder(grpc.GenericRpcHandler):
    """Forwards any method as bytes. Unary and streaming responses have the same encoding."""

    def __init__(self, recorder: Recorder, channel: grpc.aio.Channel):
        self.recorder = recorder
        self.channel = channel

    def service(self, details):
        async def forward(data: bytes, context: grpc.aio.ServicerContext):
            recorder = self.recorder
            mark = recorder.begin()
            request_type, response_type = message_types(details.method)
            metadata = [
                (k, v) for k, v in context.invocation_metadata()
                if not k.startswith('grpc-') and k not in ('user-agent', 'te', 'content-type')
            ]
            request_record = {'path': details.method, 'metadata': recorded_headers(metadata)}
            request_record |= grpc_message(recorder.with_fixed_ports(data), request_type)
            response_record = {'code': 0, 'messages': []}
            call = self.channel.unary_stream(details.method)(data, metadata=metadata)
            try:
                initial = [(k, v) for k, v in await call.initial_metadata() if not k.startswith('grpc-')]
                if initial:
                    response_record |= {'metadata': recorded_headers(initial)} if recorded_headers(initial) else {}
                    await context.send_initial_metadata(initial)
                async for message in call:
                    fixed = recorder.with_fixed_ports(message)
                    response_record['messages'].append(grpc_message(fixed, response_type))
                    yield message
                trailers = [(k, v) for k, v in await call.trailing_metadata() if not k.startswith('grpc-')]
                if recorded_headers(trailers):
                    response_record['trailers'] = recorded_headers(trailers)
                context.set_trailing_metadata(tuple(trailers))
            except grpc.aio.AioRpcError as error:
                response_record['code'] = error.code().value[0]
                trailers = [(k, v) for k, v in error.trailing_metadata() if k == 'grpc-status-details-bin']
                if trailers:
                    response_record['details'] = base64.b64encode(trailers[0][1]).decode()
                response_record['text'] = error.details()
                await context.abort(error.code(), error.details() or '', tuple(trailers))
            finally:
                call.cancel()
                recorder.end(mark, request_record, response_record)

        return grpc.unary_stream_rpc_method_handler(forward)


async def start_grpc_proxy(recorder: Recorder, upstream: int) -> int:
    channel = grpc.aio.insecure_channel(f'127.0.0.1:{upstream}')
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_GrpcForwarder(recorder, channel),))
    port = server.add_insecure_port('127.0.0.1:0')
    await server.start()
    _running.append(server)
    return port
