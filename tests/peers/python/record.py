"""Records the fixtures of one peer: starts its server and the recording proxies, and runs its driver.

The existing files are replaced only if the driver succeeds.
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

import recording_proxy

HTTP_PORT, GRPC_PORT, HOOK_PORT = 19999, 19998, 19997


async def read_ports(process: asyncio.subprocess.Process) -> dict[str, int]:
    line = await asyncio.wait_for(process.stdout.readline(), 60)
    if not line:
        raise SystemExit('record: the server exited before it printed its ports; set RECORD_DEBUG=1 to see its errors')
    return json.loads(line)


async def wait_until_idle(recorder: recording_proxy.Recorder) -> None:
    """Waits up to ten seconds until no exchange has been pending or written for half a second."""
    idle_checks = 0
    previous = None
    for _ in range(100):
        if idle_checks == 5:
            break
        await asyncio.sleep(0.1)
        current = (recorder.pending, len(recorder.written))
        idle_checks = idle_checks + 1 if recorder.pending == 0 and current == previous else 0
        previous = current


async def record(args: argparse.Namespace) -> int:
    out = Path(args.out)
    temp_dir = Path(tempfile.mkdtemp())
    recorder = recording_proxy.Recorder(
        temp_dir, args.protocol, f'{args.source}: client to server', f'{args.source}: plain request to server')
    server = await asyncio.create_subprocess_exec(
        *shlex.split(args.server), stdout=asyncio.subprocess.PIPE,
        stderr=None if os.environ.get('RECORD_DEBUG') else asyncio.subprocess.DEVNULL)
    code = 1
    try:
        ports = await read_ports(server)
        driver_ports = {}
        for name, port in ports.items():
            is_grpc = name.endswith('grpc')
            start_proxy = recording_proxy.start_grpc_proxy if is_grpc else recording_proxy.start_http_proxy
            driver_ports[name] = await start_proxy(recorder, port)
            recorded_port = GRPC_PORT if is_grpc else HTTP_PORT
            recorder.ports |= {port: recorded_port, driver_ports[name]: recorded_port}
        push_source = f'{args.source}: push sender of the server'
        driver_ports['hook'] = await recording_proxy.start_webhook_sink(recorder, push_source)
        recorder.ports[driver_ports['hook']] = HOOK_PORT
        driver_ports['control'] = await recording_proxy.start_control(recorder)
        env = os.environ | {'PEER_PORTS': json.dumps(driver_ports)}
        driver = await asyncio.create_subprocess_exec(*shlex.split(args.driver), env=env)
        try:
            code = await asyncio.wait_for(driver.wait(), 120)
        except TimeoutError:
            driver.kill()
            print('record: the driver timed out', file=sys.stderr)
        await wait_until_idle(recorder)
    finally:
        if server.returncode is None:
            server.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(server.wait(), 5)
            except TimeoutError:
                server.kill()
    if code == 0:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(temp_dir, out)
        print(f'{args.out}: {len(recorder.written)} exchanges')
    shutil.rmtree(temp_dir)
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
