"""Records the fixtures of one peer: starts its server, puts the hops in between, runs its driver.

The old files are replaced at the end, and only if the driver came to its end.
"""

import argparse
import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import hop

HTTP_PORT, GRPC_PORT, HOOK_PORT = 19999, 19998, 19997


async def read_ports(process: asyncio.subprocess.Process) -> dict[str, int]:
    line = await asyncio.wait_for(process.stdout.readline(), 60)
    if not line:
        raise SystemExit('record: the server ended before telling its ports (RECORD_DEBUG=1 shows why)')
    return json.loads(line)


async def settle(recorder: hop.Recorder) -> None:
    """Waits, ten seconds at most, until nothing has been in flight or written for a moment."""
    quiet = 0
    before = None
    for _ in range(100):
        if quiet == 5:
            break
        await asyncio.sleep(0.1)
        now = (recorder.pending, len(recorder.written))
        quiet = quiet + 1 if recorder.pending == 0 and now == before else 0
        before = now


async def record(args: argparse.Namespace) -> int:
    out = Path(args.out)
    fresh = Path(tempfile.mkdtemp())
    recorder = hop.Recorder(
        fresh, args.protocol, f'{args.source}: client to server', f'{args.source}: plain request to server')
    server = await asyncio.create_subprocess_exec(
        *shlex.split(args.server), stdout=asyncio.subprocess.PIPE,
        stderr=None if os.environ.get('RECORD_DEBUG') else asyncio.subprocess.DEVNULL)
    code = 1
    try:
        ports = await read_ports(server)
        where = {}
        for name, port in ports.items():
            is_grpc = name.endswith('grpc')
            where[name] = await (hop.grpc_hop if is_grpc else hop.http_hop)(recorder, port)
            fixed = GRPC_PORT if is_grpc else HTTP_PORT
            recorder.ports |= {port: fixed, where[name]: fixed}
        where['hook'] = await hop.hook_sink(recorder, f'{args.source}: push sender of the server')
        recorder.ports[where['hook']] = HOOK_PORT
        where['control'] = await hop.control(recorder)
        env = os.environ | {'PEER_PORTS': json.dumps(where)}
        driver = await asyncio.create_subprocess_exec(*shlex.split(args.driver), env=env)
        try:
            code = await asyncio.wait_for(driver.wait(), 120)
        except TimeoutError:
            driver.kill()
            print('record: the driver did not end in time', file=sys.stderr)
        await settle(recorder)
    finally:
        if server.returncode is None:
            server.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(server.wait(), 5)
            except TimeoutError:
                server.kill()
    if code == 0:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(fresh, out)
        print(f'{args.out}: {len(recorder.written)} exchanges')
    shutil.rmtree(fresh)
    return code


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('--protocol', required=True)
    parser.add_argument('--source', required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--server', required=True, help='command line of the server')
    parser.add_argument('--driver', required=True, help='command line of the driver')
    code = asyncio.run(record(parser.parse_args()))
    sys.stdout.flush()
    os._exit(code)


if __name__ == '__main__':
    main()
