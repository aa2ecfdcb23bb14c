"""Webhook receiver."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from peer import Delivery


@asynccontextmanager
async def receiver() -> AsyncIterator[tuple[str, asyncio.Queue[Delivery]]]:
    """Runs a receiver, and yields its URL and a queue of deliveries."""
    loop, deliveries = asyncio.get_running_loop(), asyncio.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers['Content-Length']))
            loop.call_soon_threadsafe(deliveries.put_nowait, Delivery(self.headers, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            """Logs nothing: the test harness parses the output."""

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f'http://127.0.0.1:{server.server_port}/hook?id=1', deliveries
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()
